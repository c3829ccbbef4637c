// The calls that order things, by file and line: a run can leave some of them out and list those that it made.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <set>

#include "findings.h"

namespace ascendc_host {

// Of one call in the kernel's text: what it is, its place, how often it ran.
struct SyncSite {
    std::string kind;
    Location at;
    uint64_t count = 0;
};

// `skipped` calls do nothing (lines of the same file mean the same call); `listed` calls are reported with their partners.
class SyncSites {
public:
    bool listed = false;

    void skip(const std::string& places)
    {
        size_t start = 0;
        while (start < places.size()) {
            const size_t end = std::min(places.find('\n', start), places.size());
            const std::string place = places.substr(start, end - start);
            const size_t colon = place.rfind(':');
            if (colon != std::string::npos) {
                skipped_.insert({std::strtoul(place.c_str() + colon + 1, nullptr, 10), place.substr(0, colon)});
            }
            start = end + 1;
        }
    }

    // Whether the call runs; notes it when calls are listed.
    bool runs(const char* kind, Location at)
    {
        if (!skipped_.empty() && skipped_.count({at.line, at.file}) != 0) {
            return false;
        }
        if (listed) {
            std::lock_guard<std::mutex> guard(mutex_);
            SyncSite& site = sites_[{at.file, at.line}];
            site.kind = kind;
            site.at = at;
            ++site.count;
        }
        return true;
    }

    // A set and a wait that belong together.
    void pair(Location set, Location wait)
    {
        if (listed && set.line != 0) {
            std::lock_guard<std::mutex> guard(mutex_);
            pairs_.insert({set.file, set.line, wait.file, wait.line});
        }
    }

    // All calls on one flag between cores belong together.
    void join(int64_t flag, Location at)
    {
        if (!listed) {
            return;
        }
        Location first;
        {
            std::lock_guard<std::mutex> guard(mutex_);
            first = cross_.emplace(flag, at).first->second;
        }
        pair(first, at);
    }

    std::string text() const
    {
        std::string out = "[";
        for (const auto& entry : sites_) {
            const SyncSite& site = entry.second;
            out += out.size() > 1 ? ", " : "";
            out += "[" + quoted(site.kind) + ", " + quoted(site.at.file) + format(", %u, %llu]", site.at.line, static_cast<unsigned long long>(site.count));
        }
        return out + "]";
    }

    std::string pairs_text() const
    {
        std::string out = "[";
        for (const Pair& entry : pairs_) {
            out += out.size() > 1 ? ", " : "";
            out += "[" + quoted(std::get<0>(entry)) + format(", %u, ", std::get<1>(entry)) + quoted(std::get<2>(entry));
            out += format(", %u]", std::get<3>(entry));
        }
        return out + "]";
    }

private:
    using Pair = std::tuple<std::string, uint32_t, std::string, uint32_t>;
    std::mutex mutex_;
    std::set<std::pair<unsigned long, std::string>> skipped_;
    std::map<std::pair<std::string, uint32_t>, SyncSite> sites_;
    std::map<int64_t, Location> cross_;
    std::set<Pair> pairs_;
};

inline SyncSites& sync_sites()
{
    static SyncSites all;
    return all;
}

}  // namespace ascendc_host
