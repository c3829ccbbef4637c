// One AI core of a launch: its memories, its pipes (asynchronous in-order queues), flags between pipes, and counters.
#pragma once

#include <deque>
#include <functional>
#include <random>
#include <unordered_map>

#include "core_state.h"

namespace ascendc_host {

class Scheduler;

class Core {
public:
    uint32_t number = 0;      // among all cores of the launch
    uint32_t block = 0;
    uint32_t blocks = 1;
    uint32_t sub_block = 0;
    uint32_t ratio = 1;       // vector cores per block
    bool is_cube = false;
    bool runs_mixed = false;  // cube and vector cores in one launch
    uint32_t group_size = 1;  // cores per block
    Scheduler* scheduler = nullptr;

    MaskState mask;
    AtomicState atomic;
    uint64_t compare_mask[2] = {0, 0};
    uint8_t compare_shadow[16] = {};
    double accumulated_value = 0;
    uint64_t reduce_value = 0;
    uint64_t reduce_index = 0;
    uint64_t sorted_counts[4] = {};
    uint64_t gather_count = 0;
    std::unordered_map<const char*, uint64_t> instructions;
    uint64_t moved[8][8] = {};
    std::unordered_map<int, uint64_t> registers;  // special registers that instructions read, by the name of their setter
    std::vector<std::function<void()>> at_end;

    void prepare(uint32_t core_number)
    {
        number = core_number;
        memories_ = thread_memories();
        random_.seed(settings().seed * 1000003u + core_number);
        epochs_.fill(1);
    }

    // Made, or cleared after the last block, at its first use.
    Memory& memory(Space space)
    {
        Memory& memory = memories_[static_cast<int>(space)];
        if (!ready_[static_cast<int>(space)]) {
            ready_[static_cast<int>(space)] = true;
            if (memory.data.empty()) {
                memory.create(space);
            } else {
                memory.reset();
            }
        }
        return memory;
    }

    void report(const char* rule, Location at, std::string message, Location other = Location())
    {
        findings().add(rule, at, std::move(message), other, static_cast<int32_t>(number));
    }

    // Queues an instruction. `run` reads and writes memory; what it touches is in `accesses`.
    template <typename Run>
    void issue(uint32_t pipe, Location at, const char* name, Accesses accesses, Run run)
    {
        ++instructions[name];
        current_ = ++issues_;
        if (settings().order == Order::EARLY && queues_[pipe].empty()) {
            acquired_[pipe].join(acquired_[PIPE_S]);
            order_accesses(pipe, at, accesses);
            run();
            return;
        }
        Entry entry;
        entry.kind = Entry::INSTRUCTION;
        entry.at = at;
        entry.accesses = std::move(accesses);
        entry.run = std::move(run);
        push(pipe, std::move(entry));
    }

    // An access by scalar code, at once.
    void scalar_access(Location at, const Accesses& accesses)
    {
        random_progress();
        current_ = ++issues_;
        Clock clock = acquired_[PIPE_S];
        clock.own[PIPE_S] = epochs_[PIPE_S];
        if (!settings().scalar_sync) {
            finish_all();
            clock.own = epochs_;
        }
        for (const Access& access : accesses) {
            check(PIPE_S, at, access, clock);
        }
        for (const Access& access : accesses) {
            record(PIPE_S, at, access, clock);
        }
        if (!settings().scalar_sync) {
            clock.own[PIPE_S] = epochs_[PIPE_S]++;
            acquired_[PIPE_S] = clock;
        }
    }

    void set_flag(AscendC::HardEvent event, int32_t id, Location at)
    {
        if (!legal_event(event, id, at)) {
            return;
        }
        int32_t& balance = issued_[key(event, id)];
        if (++balance > 1) {
            report("flag-set-twice", at, format("flag %s_%s of event id %d is set again before it was waited for",
                   pipe_name(event_source(event)), pipe_name(event_target(event)), id), set_at_[key(event, id)]);
        }
        set_at_[key(event, id)] = at;
        if (event_source(event) == PIPE_S) {
            if (balance <= 1) {
                expect_waited(PIPE_S, key(event, id), at);
            }
            release(PIPE_S, key(event, id));
            progress();
            return;
        }
        Entry entry;
        entry.kind = Entry::SET;
        entry.at = at;
        entry.flag = key(event, id);
        entry.twice = balance > 1;
        push(event_source(event), std::move(entry));
    }

    void wait_flag(AscendC::HardEvent event, int32_t id, Location at)
    {
        if (!legal_event(event, id, at)) {
            return;
        }
        --issued_[key(event, id)];
        sync_sites().pair(set_at_[key(event, id)], at);
        if (event_target(event) == PIPE_S) {
            wait_on_scalar(event, id, at);
            return;
        }
        Entry entry;
        entry.kind = Entry::WAIT;
        entry.at = at;
        entry.flag = key(event, id);
        push(event_target(event), std::move(entry));
    }

    // Flags of units of L0C between the pipes M and FIX, which instructions set and wait for themselves.
    void unit_set(AscendC::HardEvent event, int64_t unit, Location at) { push_flag(Entry::SET, event_source(event), event, unit, at); }
    void unit_wait(AscendC::HardEvent event, int64_t unit, Location at) { push_flag(Entry::WAIT, event_target(event), event, unit, at); }

    void barrier(uint32_t pipe, Location at)
    {
        if (pipe == PIPE_ALL) {
            barrier_all(at);
            return;
        }
        if (pipe == PIPE_S) {
            return;
        }
        Entry entry;
        entry.kind = Entry::BARRIER;
        entry.at = at;
        push(pipe, std::move(entry));
    }

    // Everything issued so far completes before anything issued later starts.
    void barrier_all(Location at)
    {
        drain(at);
        Clock all = acquired_[PIPE_S];
        for (uint32_t pipe = 0; pipe < PIPES; ++pipe) {
            all.join(acquired_[pipe]);
        }
        all.own = epochs_;
        for (uint32_t pipe = 0; pipe < PIPES; ++pipe) {
            acquired_[pipe] = all;
            ++epochs_[pipe];
        }
    }

    // Runs `action` on `pipe` after all that was issued to it, with the clock that then holds.
    void release_to(uint32_t pipe, Location at, std::function<void(const Clock&)> action)
    {
        Entry entry;
        entry.kind = Entry::RELEASE;
        entry.at = at;
        entry.publish = std::move(action);
        push(pipe, std::move(entry));
    }

    // What comes from other cores is known to everything issued from now on.
    void acquire_remote(const std::shared_ptr<const Clock::Remote>& remote) { acquired_[PIPE_S].join_remote(remote); }

    Clock full_clock() const
    {
        Clock all = acquired_[PIPE_S];
        all.own[PIPE_S] = epochs_[PIPE_S];
        return all;
    }

    // Publishes what scalar code did so far.
    Clock release_scalar()
    {
        Clock all = full_clock();
        ++epochs_[PIPE_S];
        return all;
    }

    // Runs what may run without waiting for anybody.
    void finish_all()
    {
        bool moved_on = true;
        while (moved_on) {
            moved_on = false;
            for (uint32_t pipe = 1; pipe < PIPES; ++pipe) {
                while (step(pipe)) {
                    moved_on = true;
                }
            }
        }
    }

    // At the kernel's end: runs the rest, and reports waits that nothing ends and flags that nobody waited for.
    void finish(Location at)
    {
        drain(at);
        for (const auto& entry : issued_) {
            if (entry.second > 0) {
                const auto event = static_cast<AscendC::HardEvent>(entry.first / IDS);
                report("flag-left-set", set_at_[entry.first],
                       format("flag %s_%s of event id %d is set and nobody waits for it: the next kernel starts with it",
                              pipe_name(event_source(event)), pipe_name(event_target(event)), entry.first % IDS));
            }
        }
    }

    // Event ids in the order in which the framework hands them out.
    int32_t allocate_event(AscendC::HardEvent event, Location at)
    {
        uint8_t& used = allocated_[static_cast<int>(event)];
        for (int32_t id = 0; id < 8; ++id) {
            if ((used >> id & 1) == 0) {
                used = static_cast<uint8_t>(used | (1 << id));
                return id;
            }
        }
        report("event-ids", at, format("all 8 event ids of %s_%s are in use", pipe_name(event_source(event)), pipe_name(event_target(event))));
        return 0;
    }
    int32_t free_event(AscendC::HardEvent event) const
    {
        const uint8_t used = allocated_[static_cast<int>(event)];
        for (int32_t id = 0; id < 8; ++id) {
            if ((used >> id & 1) == 0) {
                return id;
            }
        }
        return 0;
    }
    void release_event(AscendC::HardEvent event, int32_t id)
    {
        allocated_[static_cast<int>(event)] = static_cast<uint8_t>(allocated_[static_cast<int>(event)] & ~(1 << id));
    }

private:
    struct Entry {
        enum Kind : uint8_t { INSTRUCTION, SET, WAIT, BARRIER, RELEASE } kind = INSTRUCTION;
        Location at;
        int32_t flag = 0;
        bool twice = false;  // a set in whose program order no wait came before it
        uint64_t number = 0;
        Clock issued;
        Accesses accesses;
        std::function<void()> run;
        std::function<void(const Clock&)> publish;
    };

    struct Waited {
        uint32_t epoch = 0;
        Location at;
    };

    static constexpr int32_t IDS = 1024;
    static constexpr int32_t UNIT = 512;  // unit flags of L0C come after the event ids
    Memory* memories_ = nullptr;
    bool ready_[static_cast<int>(Space::GM)] = {};
    std::deque<Entry> queues_[PIPES];
    Clock acquired_[PIPES];
    std::array<uint32_t, PIPES> epochs_{};
    std::map<int32_t, std::deque<Clock>> tokens_;
    std::map<int32_t, Waited> waited_;
    std::map<int32_t, int32_t> issued_;
    std::map<int32_t, Location> set_at_;
    uint8_t allocated_[static_cast<int>(AscendC::HardEvent::MAX)] = {};
    std::mt19937_64 random_;
    uint64_t issues_ = 0;
    uint64_t current_ = 0;  // of the instruction whose accesses are checked

    static Memory* thread_memories()
    {
        static thread_local std::unique_ptr<Memory[]> memories(new Memory[static_cast<int>(Space::GM)]);
        return memories.get();
    }

    static int32_t key(AscendC::HardEvent event, int32_t id) { return static_cast<int32_t>(event) * IDS + id; }
    static AscendC::HardEvent event_of(int32_t flag) { return static_cast<AscendC::HardEvent>(flag / IDS); }

    bool legal_event(AscendC::HardEvent event, int32_t id, Location at)
    {
        if (id < 0 || id > static_cast<int32_t>(settings().highest_event)) {
            report("event-id", at, format("event id %d is not among 0 to %u", id, settings().highest_event));
            return false;
        }
        const bool cube_pipe = [&] {
            for (const uint32_t pipe : {event_source(event), event_target(event)}) {
                if (pipe == PIPE_M || pipe == PIPE_MTE1 || pipe == PIPE_FIX) {
                    return true;
                }
            }
            return false;
        }();
        const bool vector_pipe = event_source(event) == PIPE_V || event_target(event) == PIPE_V;
        if ((cube_pipe && !is_cube) || (vector_pipe && is_cube)) {
            report("flag-pipe", at, format("flag %s_%s does not exist on a %s core", pipe_name(event_source(event)),
                   pipe_name(event_target(event)), is_cube ? "cube" : "vector"));
            return false;
        }
        return true;
    }

    void push_flag(Entry::Kind kind, uint32_t pipe, AscendC::HardEvent event, int64_t unit, Location at)
    {
        Entry entry;
        entry.kind = kind;
        entry.at = at;
        entry.flag = key(event, UNIT + static_cast<int32_t>(unit));
        push(pipe, std::move(entry));
    }

    void push(uint32_t pipe, Entry entry)
    {
        entry.issued = acquired_[PIPE_S];
        entry.number = issues_;
        queues_[pipe].push_back(std::move(entry));
        if (settings().order == Order::EARLY) {
            progress();
        } else {
            random_progress();
        }
    }

    void progress()
    {
        if (settings().order == Order::EARLY) {
            finish_all();
        }
    }

    void random_progress()
    {
        if (settings().order != Order::RANDOM) {
            return;
        }
        for (uint64_t steps = random_() % 4; steps > 0; --steps) {
            step(1 + static_cast<uint32_t>(random_() % (PIPES - 1)));
        }
    }

    // Runs the first entry of a pipe, unless it waits for a flag.
    bool step(uint32_t pipe)
    {
        if (queues_[pipe].empty() || blocked(queues_[pipe].front())) {
            return false;
        }
        Entry entry = std::move(queues_[pipe].front());
        queues_[pipe].pop_front();
        acquired_[pipe].join(entry.issued);
        switch (entry.kind) {
            case Entry::INSTRUCTION:
                current_ = entry.number;
                order_accesses(pipe, entry.at, entry.accesses);
                entry.run();
                break;
            case Entry::SET:
                if (!entry.twice) {
                    expect_waited(pipe, entry.flag, entry.at);
                }
                release(pipe, entry.flag);
                break;
            case Entry::WAIT:
                acquired_[pipe].join(take(entry.flag));
                waited_[entry.flag] = Waited{epochs_[pipe]++, entry.at};
                break;
            case Entry::BARRIER:
                acquired_[pipe].own[pipe] = epochs_[pipe]++;
                break;
            case Entry::RELEASE: {
                Clock clock = acquired_[pipe];
                clock.own[pipe] = epochs_[pipe]++;
                entry.publish(clock);
                break;
            }
        }
        return true;
    }

    bool blocked(const Entry& entry)
    {
        return entry.kind == Entry::WAIT && tokens_[entry.flag].empty();
    }

    void release(uint32_t pipe, int32_t flag)
    {
        Clock clock = acquired_[pipe];
        clock.own[pipe] = epochs_[pipe]++;
        tokens_[flag].push_back(std::move(clock));
    }

    // A flag is one bit: a pipe that sets it has to know that its last wait has run. Scalar code that waits issues nothing
    // until it has.
    void expect_waited(uint32_t pipe, int32_t flag, Location at)
    {
        if (!settings().strict_flags) {
            return;
        }
        const auto event = event_of(flag);
        const Waited& last = waited_[flag];
        const bool still_set = !tokens_[flag].empty();
        if (flag % IDS < UNIT && (still_set || acquired_[pipe].of(number, event_target(event), number) < last.epoch)) {
            report("flag-set-early", at, format("flag %s_%s of event id %d may be set before its last wait has run: nothing orders the two",
                   pipe_name(event_source(event)), pipe_name(event_target(event)), flag % IDS), last.at);
        }
    }

    Clock take(int32_t flag)
    {
        Clock clock = std::move(tokens_[flag].front());
        tokens_[flag].pop_front();
        return clock;
    }

    void wait_on_scalar(AscendC::HardEvent event, int32_t id, Location at)
    {
        const int32_t flag = key(event, id);
        while (tokens_[flag].empty()) {
            if (!force(event_source(event), 0)) {
                report("deadlock", at, format("scalar code waits for flag %s_S of event id %d, which is never set",
                       pipe_name(event_source(event)), id));
                throw KernelAbort();
            }
        }
        acquired_[PIPE_S].join(take(flag));
    }

    // Runs the first entry of a pipe, or what that entry waits for.
    bool force(uint32_t pipe, uint32_t depth)
    {
        if (queues_[pipe].empty() || depth > PIPES) {
            return false;
        }
        const Entry& first = queues_[pipe].front();
        if (blocked(first)) {
            return force(event_source(event_of(first.flag)), depth + 1);
        }
        return step(pipe);
    }

    void drain(Location at)
    {
        if (settings().order == Order::RANDOM) {
            for (uint32_t idle = 0; idle < 64;) {
                idle = step(1 + static_cast<uint32_t>(random_() % (PIPES - 1))) ? 0 : idle + 1;
            }
        }
        finish_all();
        bool stuck = false;
        for (uint32_t pipe = 1; pipe < PIPES; ++pipe) {
            if (!queues_[pipe].empty()) {
                stuck = true;
                const Entry& first = queues_[pipe].front();
                const auto event = event_of(first.flag);
                report("deadlock", first.at, format("pipe %s waits for flag %s_%s of event id %d, which is never set",
                       pipe_name(pipe), pipe_name(event_source(event)), pipe_name(event_target(event)), first.flag % IDS), at);
            }
        }
        if (stuck) {
            for (auto& queue : queues_) {
                queue.clear();
            }
            throw KernelAbort();
        }
    }

    void order_accesses(uint32_t pipe, Location at, const Accesses& accesses)
    {
        if (settings().auto_sync && (pipe == PIPE_V || pipe == PIPE_M || pipe == PIPE_FIX)) {
            acquired_[pipe].own[pipe] = epochs_[pipe]++;
        }
        for (const Access& access : accesses) {
            check(pipe, at, access, acquired_[pipe]);
        }
        for (const Access& access : accesses) {
            record(pipe, at, access, acquired_[pipe]);
        }
    }

    Stamp stamp(uint32_t pipe, Location at, const Access& access) const
    {
        Stamp stamp;
        stamp.core = number;
        stamp.epoch = epochs_[pipe];
        stamp.pipe = static_cast<uint8_t>(pipe);
        stamp.atomic = access.atomic;
        stamp.issued = current_;
        stamp.at = at;
        return stamp;
    }

    void check(uint32_t pipe, Location at, const Access& access, const Clock& clock)
    {
        const Stamp mine = stamp(pipe, at, access);
        AccessMap::Conflict conflict;
        std::unique_lock<std::mutex> guard;
        if (access.buffer != nullptr) {
            guard = std::unique_lock<std::mutex>(access.buffer->mutex);
        }
        const AccessMap& map = access.buffer != nullptr ? access.buffer->accesses : access.memory->accesses;
        for (const Range& range : access.ranges) {
            if (map.check(range, access.writes, mine, clock, conflict)) {
                report_race(mine, access, conflict);
                return;
            }
        }
        if (access.buffer != nullptr && pipe == PIPE_S && access.writes) {
            check_lines(mine, access, clock);
        }
    }

    // Scalar stores go through a cache by lines of 64 bytes: two cores that write one line lose data.
    void check_lines(const Stamp& mine, const Access& access, const Clock& clock)
    {
        for (const Range& range : access.ranges) {
            const Range line{range.start & ~uint64_t{63}, (range.end + 63) & ~uint64_t{63}};
            AccessMap::Conflict conflict;
            if (access.buffer->lines.check(line, true, mine, clock, conflict) && conflict.earlier.core != number) {
                report("cache-line-shared", mine.at, format("cores %u and %u both store to the 64-byte line at byte %llu of %s by scalar code",
                       conflict.earlier.core, number, static_cast<unsigned long long>(line.start), access.buffer->name.c_str()),
                       conflict.earlier.at);
            }
            access.buffer->lines.record(line, true, mine, clock);
        }
    }

    void record(uint32_t pipe, Location at, const Access& access, const Clock& clock)
    {
        const Stamp mine = stamp(pipe, at, access);
        std::unique_lock<std::mutex> guard;
        if (access.buffer != nullptr) {
            guard = std::unique_lock<std::mutex>(access.buffer->mutex);
        }
        AccessMap& map = access.buffer != nullptr ? access.buffer->accesses : access.memory->accesses;
        for (const Range& range : access.ranges) {
            map.record(range, access.writes, mine, clock);
        }
    }

    // The later one in the text of one core, whichever ran first.
    void report_race(const Stamp& mine, const Access& access, const AccessMap::Conflict& conflict)
    {
        const bool swap = conflict.earlier.core == mine.core && conflict.earlier.issued > mine.issued;
        const Stamp& later = swap ? conflict.earlier : mine;
        const Stamp& earlier = swap ? mine : conflict.earlier;
        const bool later_writes = swap ? conflict.earlier_writes : access.writes;
        const bool earlier_writes = swap ? access.writes : conflict.earlier_writes;
        const std::string place = access.buffer != nullptr ? access.buffer->name : std::string(space_name(access.memory->space));
        const bool same_pipe = earlier.core == later.core && earlier.pipe == later.pipe;
        report("race", later.at,
               format("pipe %s of core %u %s byte %llu of %s, which pipe %s of core %u %s: nothing orders the two%s",
                      pipe_name(later.pipe), later.core, later_writes ? "writes" : "reads",
                      static_cast<unsigned long long>(conflict.start), place.c_str(), pipe_name(earlier.pipe), earlier.core,
                      earlier_writes ? "writes" : "reads", same_pipe ? " (a barrier of that pipe would)" : ""),
               earlier.at);
    }
};

inline Core*& current_core()
{
    static thread_local Core* core = nullptr;
    return core;
}

inline Core& core() { return *current_core(); }
inline bool on_cube_core() { return core().is_cube; }
inline bool on_vector_core() { return !core().is_cube; }

}  // namespace ascendc_host
