// What the model reports: broken rules, races, deadlocks; each once for each place.
#pragma once

#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "location.h"

namespace ascendc_host {

struct Finding {
    std::string rule;
    std::string message;
    Location at;
    Location other;
    int32_t core = -1;
    uint64_t count = 1;
};

class Findings {
public:
    void add(const char* rule, Location at, std::string message, Location other, int32_t core)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        const Key key{rule, at.file, at.line, other.file, other.line};
        const auto found = seen_.find(key);
        if (found != seen_.end()) {
            ++list_[found->second].count;
            return;
        }
        if (list_.size() >= MOST) {
            return;
        }
        seen_[key] = list_.size();
        list_.push_back(Finding{rule, std::move(message), at, other, core, 1});
    }

    const std::vector<Finding>& list() const { return list_; }

private:
    using Key = std::tuple<std::string, std::string, uint32_t, std::string, uint32_t>;
    static constexpr size_t MOST = 1000;
    std::mutex mutex_;
    std::map<Key, size_t> seen_;
    std::vector<Finding> list_;
};

inline Findings& findings()
{
    static Findings all;
    return all;
}

template <typename... Arguments>
std::string format(const char* text, Arguments... arguments)
{
    char buffer[512];
    std::snprintf(buffer, sizeof(buffer), text, arguments...);
    return buffer;
}

inline std::string format(const char* text) { return text; }

inline std::string quoted(const std::string& text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 32) {
            out += format("\\u%04x", c);
        } else {
            out += c;
        }
    }
    return out + "\"";
}

}  // namespace ascendc_host
