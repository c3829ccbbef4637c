// Launches from host code, and what a run reports: findings and counters as JSON.
#pragma once

#include <cstdlib>
#include <cstring>

#include "scheduler.h"

namespace ascendc_host {

inline std::string place(Location at)
{
    return format("\"file\": %s, \"line\": %u", quoted(at.file).c_str(), at.line);
}

inline std::string finding_text(const Finding& finding)
{
    std::string text = "{\"rule\": " + quoted(finding.rule) + ", \"message\": " + quoted(finding.message) + ", " + place(finding.at);
    if (finding.other.line != 0) {
        text += ", \"other_file\": " + quoted(finding.other.file) + format(", \"other_line\": %u", finding.other.line);
    }
    return text + format(", \"core\": %d, \"count\": %llu}", finding.core, static_cast<unsigned long long>(finding.count));
}

inline std::string numbers_text(const std::map<std::string, uint64_t>& numbers)
{
    std::string text = "{";
    for (const auto& entry : numbers) {
        text += (text.size() > 1 ? ", " : "") + quoted(entry.first) + format(": %llu", static_cast<unsigned long long>(entry.second));
    }
    return text + "}";
}

// Out of program order, a race makes values look unwritten: those findings say no more than the race.
inline std::vector<Finding> reported()
{
    std::vector<Finding> list = findings().list();
    const bool raced = std::any_of(list.begin(), list.end(), [](const Finding& finding) { return finding.rule == "race"; });
    if (raced && settings().order != Order::EARLY) {
        list.erase(std::remove_if(list.begin(), list.end(), [](const Finding& finding) { return finding.rule == "uninitialised"; }),
                   list.end());
    }
    return list;
}

inline std::string report_text()
{
    std::string text = "{\"findings\": [";
    bool first = true;
    for (const Finding& finding : reported()) {
        text += (first ? "\n  " : ",\n  ") + finding_text(finding);
        first = false;
    }
    text += "],\n \"instructions\": " + numbers_text(totals().instructions);
    text += ",\n \"bytes\": " + numbers_text(totals().bytes);
    text += ",\n \"syncs\": " + sync_sites().text() + ",\n \"pairs\": " + sync_sites().pairs_text();
    text += format(",\n \"launches\": %llu, \"cores\": %llu}\n", static_cast<unsigned long long>(totals().launches),
                   static_cast<unsigned long long>(totals().cores));
    return text;
}

inline void write_report()
{
    const char* path = std::getenv("ASCENDC_HOST_REPORT");
    if (path != nullptr) {
        FILE* file = std::fopen(path, "w");
        if (file != nullptr) {
            const std::string text = report_text();
            std::fwrite(text.data(), 1, text.size(), file);
            std::fclose(file);
        }
        return;
    }
    for (const Finding& finding : reported()) {
        std::fprintf(stderr, "%s:%u: error[%s]: %s\n", finding.at.file, finding.at.line, finding.rule.c_str(), finding.message.c_str());
        if (finding.other.line != 0) {
            std::fprintf(stderr, "%s:%u: note: the other place\n", finding.other.file, finding.other.line);
        }
    }
}

inline uint64_t number_setting(const char* name, uint64_t otherwise)
{
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Read from the environment, so that the same program runs in every mode.
inline void read_settings()
{
    Settings& all = settings();
    const char* mode = std::getenv("ASCENDC_HOST_MODE");
    const std::string name = mode == nullptr ? "early" : mode;
    all.order = name == "late" ? Order::LATE : (name == "random" ? Order::RANDOM : Order::EARLY);
    all.seed = number_setting("ASCENDC_HOST_SEED", 0);
    all.auto_sync = number_setting("ASCENDC_HOST_AUTO_SYNC", 0) != 0;
    all.scalar_sync = !all.auto_sync;
    const char* skipped = std::getenv("ASCENDC_HOST_SKIP");
    sync_sites().skip(skipped == nullptr ? "" : skipped);
    sync_sites().listed = number_setting("ASCENDC_HOST_LIST_SYNCS", 0) != 0;
    all.strict_flags = number_setting("ASCENDC_HOST_STRICT_FLAGS", 0) != 0;
    fill_byte() = static_cast<uint8_t>(number_setting("ASCENDC_HOST_FILL", 255));
    all.threads = static_cast<uint32_t>(number_setting("ASCENDC_HOST_THREADS", 0));
    all.cube_cores = static_cast<uint32_t>(number_setting("ASCENDC_HOST_CUBE_CORES", all.cube_cores));
    all.vector_cores = static_cast<uint32_t>(number_setting("ASCENDC_HOST_VECTOR_CORES", all.vector_cores));
}

struct Session {
    Session()
    {
        read_settings();
        std::atexit(write_report);
    }
};

inline void open_session()
{
    findings();
    totals();
    global_memory();
    sync_sites();
    static Session session;
}

template <typename Kernel>
void host_launch(KernelKind kind, uint64_t blocks, const void* stream, const Kernel& kernel)
{
    static_cast<void>(stream);
    open_session();
    launch(kind, blocks, kernel);
}

}  // namespace ascendc_host
