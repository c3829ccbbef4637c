// Happens-before: vector clocks over cores and pipes, and the accesses of a memory that may still race.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "enums.h"
#include "location.h"

namespace ascendc_host {

constexpr uint32_t PIPES = 7;

inline const char* pipe_name(uint32_t pipe)
{
    static const char* const names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
    return pipe < PIPES ? names[pipe] : "ALL";
}

// By core and pipe, the last epoch that is complete. Other cores' part is shared, since it changes at cross-core flags alone.
struct Clock {
    using Remote = std::vector<uint32_t>;

    std::array<uint32_t, PIPES> own{};
    std::shared_ptr<const Remote> remote;

    void join(const Clock& other)
    {
        for (uint32_t pipe = 0; pipe < PIPES; ++pipe) {
            own[pipe] = std::max(own[pipe], other.own[pipe]);
        }
        join_remote(other.remote);
    }

    void join_remote(const std::shared_ptr<const Remote>& other)
    {
        if (other == nullptr || other == remote) {
            return;
        }
        if (remote == nullptr) {
            remote = other;
            return;
        }
        auto both = std::make_shared<Remote>(std::max(remote->size(), other->size()));
        for (size_t k = 0; k < both->size(); ++k) {
            const uint32_t mine = k < remote->size() ? (*remote)[k] : 0;
            const uint32_t theirs = k < other->size() ? (*other)[k] : 0;
            (*both)[k] = std::max(mine, theirs);
        }
        remote = both;
    }

    // What another core learns when it waits for this one.
    std::shared_ptr<const Remote> published(uint32_t core) const
    {
        auto all = remote == nullptr ? std::make_shared<Remote>() : std::make_shared<Remote>(*remote);
        if (all->size() < (core + 1) * PIPES) {
            all->resize((core + 1) * PIPES);
        }
        for (uint32_t pipe = 0; pipe < PIPES; ++pipe) {
            uint32_t& known = (*all)[core * PIPES + pipe];
            known = std::max(known, own[pipe]);
        }
        return all;
    }

    uint32_t of(uint32_t core, uint32_t pipe, uint32_t my_core) const
    {
        if (core == my_core) {
            return std::max(own[pipe], remote_of(core, pipe));
        }
        return remote_of(core, pipe);
    }

private:
    uint32_t remote_of(uint32_t core, uint32_t pipe) const
    {
        const size_t k = core * PIPES + pipe;
        return remote != nullptr && k < remote->size() ? (*remote)[k] : 0;
    }
};

// One access: who, in which epoch of its pipe, from which line. `atomic` is 0 or tells operation and type.
struct Stamp {
    uint32_t core = 0;
    uint32_t epoch = 0;
    uint8_t pipe = 0;
    uint8_t atomic = 0;
    uint64_t issued = 0;  // in the order of the program; no part of what makes two accesses alike
    Location at;

    bool same_source(const Stamp& other) const { return core == other.core && pipe == other.pipe && atomic == other.atomic; }
    bool operator==(const Stamp& other) const { return same_source(other) && epoch == other.epoch && at == other.at; }
};

struct Range {
    uint64_t start;
    uint64_t end;
};
using Ranges = std::vector<Range>;

// Appends a range, joined with the last one where they touch.
inline void append(Ranges& ranges, uint64_t start, uint64_t length)
{
    if (length == 0) {
        return;
    }
    if (!ranges.empty() && ranges.back().start <= start && start <= ranges.back().end) {
        ranges.back().end = std::max(ranges.back().end, start + length);
    } else {
        ranges.push_back({start, start + length});
    }
}

// The accesses that later ones may conflict with, by intervals of bytes.
class AccessMap {
public:
    struct Conflict {
        Stamp earlier;
        bool earlier_writes;
        uint64_t start;
    };

    // Finds an earlier access to `range` that conflicts with the new one and that `clock` does not cover.
    bool check(Range range, bool writes, const Stamp& stamp, const Clock& clock, Conflict& conflict) const
    {
        for (auto it = first(range.start); it != map_.end() && it->first < range.end; ++it) {
            if (it->second.end <= range.start) {
                continue;
            }
            const uint64_t start = std::max(it->first, range.start);
            if (races(it->second.writes, stamp, clock, writes, true, start, conflict)) {
                return true;
            }
            if (writes && races(it->second.reads, stamp, clock, writes, false, start, conflict)) {
                return true;
            }
        }
        return false;
    }

    void record(Range range, bool writes, const Stamp& stamp, const Clock& clock)
    {
        if (range.start >= range.end) {
            return;
        }
        split(range.start);
        split(range.end);
        uint64_t at = range.start;
        auto it = map_.lower_bound(range.start);
        while (at < range.end) {
            if (it == map_.end() || it->first > at) {
                const uint64_t gap_end = it == map_.end() ? range.end : std::min(it->first, range.end);
                it = map_.emplace_hint(it, at, Node{gap_end, {}, {}});
            }
            update(it->second, writes, stamp, clock);
            at = it->second.end;
            ++it;
        }
        merge(range);
    }

    void clear() { map_.clear(); }
    size_t size() const { return map_.size(); }

private:
    struct Node {
        uint64_t end;
        std::vector<Stamp> writes;
        std::vector<Stamp> reads;
    };
    std::map<uint64_t, Node> map_;

    std::map<uint64_t, Node>::const_iterator first(uint64_t start) const
    {
        auto it = map_.upper_bound(start);
        return it == map_.begin() ? it : std::prev(it);
    }

    static bool ordered(const Stamp& earlier, const Stamp& stamp, const Clock& clock)
    {
        return clock.of(earlier.core, earlier.pipe, stamp.core) >= earlier.epoch;
    }

    static bool races(const std::vector<Stamp>& list, const Stamp& stamp, const Clock& clock, bool writes, bool earlier_writes,
                      uint64_t start, Conflict& conflict)
    {
        for (const Stamp& earlier : list) {
            const bool both_atomic = writes && earlier_writes && stamp.atomic != 0 && stamp.atomic == earlier.atomic;
            if (!both_atomic && !ordered(earlier, stamp, clock)) {
                conflict = Conflict{earlier, earlier_writes, start};
                return true;
            }
        }
        return false;
    }

    static void drop_ordered(std::vector<Stamp>& list, const Stamp& stamp, const Clock& clock, bool keep_atomic)
    {
        list.erase(std::remove_if(list.begin(), list.end(),
                                  [&](const Stamp& earlier) {
                                      if (earlier.same_source(stamp)) {
                                          return true;
                                      }
                                      return ordered(earlier, stamp, clock) || (!keep_atomic && earlier.atomic == 0);
                                  }),
                   list.end());
    }

    static void update(Node& node, bool writes, const Stamp& stamp, const Clock& clock)
    {
        if (writes) {
            drop_ordered(node.writes, stamp, clock, stamp.atomic != 0);
            node.writes.push_back(stamp);
            node.reads.clear();
        } else {
            drop_ordered(node.reads, stamp, clock, true);
            node.reads.push_back(stamp);
        }
    }

    void split(uint64_t at)
    {
        auto it = map_.upper_bound(at);
        if (it == map_.begin()) {
            return;
        }
        --it;
        if (it->first < at && at < it->second.end) {
            Node right{it->second.end, it->second.writes, it->second.reads};
            it->second.end = at;
            map_.emplace_hint(std::next(it), at, std::move(right));
        }
    }

    void merge(Range range)
    {
        auto it = map_.lower_bound(range.start);
        if (it != map_.begin()) {
            --it;
        }
        while (it != map_.end() && it->first < range.end) {
            auto next = std::next(it);
            if (next == map_.end()) {
                return;
            }
            const bool alike = it->second.end == next->first && it->second.writes == next->second.writes &&
                               it->second.reads == next->second.reads;
            if (alike) {
                it->second.end = next->second.end;
                map_.erase(next);
            } else {
                it = next;
            }
        }
    }
};

}  // namespace ascendc_host
