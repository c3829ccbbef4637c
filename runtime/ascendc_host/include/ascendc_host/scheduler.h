// The cores of one launch on threads of this machine: turns, waits between cores, deadlocks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <thread>

#include "core.h"

namespace ascendc_host {

enum class KernelKind : uint8_t { VECTOR, CUBE, MIX_1_1, MIX_1_2, VECTOR_MIX, CUBE_MIX };

using RemoteClock = std::shared_ptr<const Clock::Remote>;

// Lets a few cores run at a time, and knows when all of them wait for each other.
class Scheduler {
public:
    explicit Scheduler(uint32_t permits) : permits_(permits) {}

    void enter()
    {
        std::unique_lock<std::mutex> guard(mutex_);
        turn_.wait(guard, [&] { return permits_ > 0; });
        --permits_;
    }

    void started(uint32_t cores)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        active_ += cores;
    }

    void leave(bool ended)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        ++permits_;
        turn_.notify_one();
        if (ended) {
            --active_;
            look_for_deadlock();
        }
    }

    // Gives other cores a turn while this one polls global memory.
    void yield()
    {
        leave(false);
        std::this_thread::yield();
        enter();
    }

    // Members of a set reach it; when each has, all `receivers` get what they all knew.
    void arrive(const std::string& name, uint32_t member, uint32_t members, const std::vector<uint32_t>& receivers,
                const std::string& token, const RemoteClock& clock)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        auto& waiting = arrivals_[name];
        waiting.resize(members);
        waiting[member].push_back(clock);
        for (const auto& queue : waiting) {
            if (queue.empty()) {
                return;
            }
        }
        Clock all;
        for (auto& queue : waiting) {
            all.join_remote(queue.front());
            queue.pop_front();
        }
        for (const uint32_t receiver : receivers) {
            deliver(receiver, token, all.remote);
        }
    }

    void send(uint32_t receiver, const std::string& token, const RemoteClock& clock)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        deliver(receiver, token, clock);
    }

    // Waits on behalf of a core; false when all cores wait.
    bool receive(uint32_t receiver, const std::string& token, RemoteClock& clock)
    {
        std::unique_lock<std::mutex> guard(mutex_);
        auto& box = boxes_[{receiver, token}];
        if (box.tokens.empty()) {
            box.wanted = true;
            ++permits_;
            turn_.notify_one();
            --active_;
            look_for_deadlock();
            arrival_.wait(guard, [&] { return !box.tokens.empty() || deadlock_; });
            if (box.wanted) {
                box.wanted = false;
                ++active_;
            }
            turn_.wait(guard, [&] { return permits_ > 0; });
            --permits_;
            if (box.tokens.empty()) {
                return false;
            }
        }
        clock = box.tokens.front();
        box.tokens.pop_front();
        return true;
    }

    // A flag between cores was set here.
    void note_set(int64_t id, Location at)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        set_at_[id] = at;
    }

    void aborted() { aborted_ = true; }

    // At the end: flags that nobody waited for stay set. Without effect when a core stopped in the middle.
    void report_flags_left()
    {
        if (aborted_) {
            return;
        }
        for (const auto& box : boxes_) {
            if (!box.second.tokens.empty()) {
                report_left(box.first.second.c_str(), "flag %lld is set and core %u never waits for it: the next kernel starts with it", box.first.first);
            }
        }
        for (const auto& arrival : arrivals_) {
            const auto missing = std::count_if(arrival.second.begin(), arrival.second.end(), [](const auto& queue) { return queue.empty(); });
            if (missing != static_cast<int64_t>(arrival.second.size())) {
                report_left(arrival.first.c_str(), "flag %lld is not set by all cores that it needs: %u of them do not",
                            static_cast<uint32_t>(missing));
            }
        }
    }

    size_t pending(uint32_t receiver, const std::string& token)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        return boxes_[{receiver, token}].tokens.size();
    }

private:
    struct Box {
        std::deque<RemoteClock> tokens;
        bool wanted = false;
    };

    std::mutex mutex_;
    std::condition_variable turn_;
    std::condition_variable arrival_;
    uint32_t permits_;
    uint32_t active_ = 0;
    bool deadlock_ = false;
    std::map<std::string, std::vector<std::deque<RemoteClock>>> arrivals_;
    std::map<std::pair<uint32_t, std::string>, Box> boxes_;
    std::map<int64_t, Location> set_at_;
    std::atomic<bool> aborted_{false};

    void report_left(const char* name, const char* message, uint32_t number) const
    {
        long long id = -1;
        const auto place = std::sscanf(name, "%*s %lld", &id) == 1 ? set_at_.find(id) : set_at_.end();
        if (place != set_at_.end()) {
            findings().add("cross-core-flag", place->second, format(message, id, number), Location(), -1);
        }
    }

    void deliver(uint32_t receiver, const std::string& token, const RemoteClock& clock)
    {
        Box& box = boxes_[{receiver, token}];
        box.tokens.push_back(clock);
        if (box.wanted) {
            box.wanted = false;
            ++active_;
            arrival_.notify_all();
        }
    }

    void look_for_deadlock()
    {
        if (active_ == 0) {
            deadlock_ = true;
            arrival_.notify_all();
        }
    }
};

struct Totals {
    std::map<std::string, uint64_t> instructions;
    std::map<std::string, uint64_t> bytes;
    uint64_t launches = 0;
    uint64_t cores = 0;
};

inline Totals& totals()
{
    static Totals all;
    return all;
}

inline void collect(const Core& core)
{
    static std::mutex mutex;
    std::lock_guard<std::mutex> guard(mutex);
    ++totals().cores;
    for (const auto& entry : core.instructions) {
        totals().instructions[entry.first] += entry.second;
    }
    for (int from = 0; from < 8; ++from) {
        for (int to = 0; to < 8; ++to) {
            if (core.moved[from][to] != 0) {
                const std::string path = std::string(space_name(static_cast<Space>(from))) + "->" + space_name(static_cast<Space>(to));
                totals().bytes[path] += core.moved[from][to];
            }
        }
    }
}

}  // namespace ascendc_host

// Numbers of the block, as the device compiler offers them.
inline thread_local int64_t block_idx = 0;
inline thread_local int64_t block_num = 1;

namespace ascendc_host {

struct Role {
    bool is_cube;
    uint32_t sub_block;
};

inline std::vector<Role> roles_of(KernelKind kind)
{
    switch (kind) {
        case KernelKind::CUBE: case KernelKind::CUBE_MIX: return {{true, 0}};
        case KernelKind::MIX_1_1: return {{true, 0}, {false, 0}};
        case KernelKind::MIX_1_2: return {{true, 0}, {false, 0}, {false, 1}};
        default: return {{false, 0}};
    }
}

// One core runs the kernel for one block.
template <typename Kernel>
void run_block(Core& core, const Kernel& kernel)
{
    const Location end = Location();
    try {
        kernel();
        for (auto action = core.at_end.rbegin(); action != core.at_end.rend(); ++action) {
            (*action)();
        }
        core.finish(end);
    } catch (const KernelAbort&) {
        core.scheduler->aborted();
    }
    core.at_end.clear();
    collect(core);
}

template <typename Kernel>
void launch(KernelKind kind, uint64_t blocks, const Kernel& kernel)
{
    const std::vector<Role> roles = roles_of(kind);
    const bool vector_only = kind == KernelKind::VECTOR || kind == KernelKind::VECTOR_MIX;
    const uint32_t places = static_cast<uint32_t>(
        std::min<uint64_t>(blocks, vector_only ? settings().vector_cores : settings().cube_cores));
    const uint32_t processors = std::max(1u, std::thread::hardware_concurrency());
    Scheduler scheduler(settings().threads != 0 ? settings().threads : processors);
    ++totals().launches;
    global_memory().forget_accesses();
    scheduler.started(places * static_cast<uint32_t>(roles.size()));
    std::vector<std::thread> threads;
    for (uint32_t place = 0; place < places; ++place) {
        for (uint32_t position = 0; position < roles.size(); ++position) {
            threads.emplace_back([&, place, position] {
                const Role role = roles[position];
                scheduler.enter();
                for (uint64_t block = place; block < blocks; block += places) {
                    auto core = std::make_unique<Core>();
                    core->prepare(static_cast<uint32_t>(block * roles.size() + position));
                    core->block = static_cast<uint32_t>(block);
                    core->blocks = static_cast<uint32_t>(blocks);
                    core->is_cube = role.is_cube;
                    core->sub_block = role.sub_block;
                    core->ratio = roles.size() > 1 ? static_cast<uint32_t>(roles.size()) - 1 : 1;
                    core->group_size = static_cast<uint32_t>(roles.size());
                    core->runs_mixed = kind != KernelKind::VECTOR && kind != KernelKind::CUBE;
                    core->scheduler = &scheduler;
                    block_idx = static_cast<int64_t>(block);
                    block_num = static_cast<int64_t>(blocks);
                    current_core() = core.get();
                    run_block(*core, kernel);
                    current_core() = nullptr;
                }
                scheduler.leave(true);
            });
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    scheduler.report_flags_left();
}

}  // namespace ascendc_host
