// A run that the driver asked for: arguments from files, results back into them.
#pragma once

#include <csignal>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "launch.h"

namespace ascendc_host {

inline void end_on_signal(int signal)
{
    write_report();
    _exit(128 + signal);
}

// An address that becomes whatever pointer a kernel's parameter is.
struct AnyPointer {
    uint8_t* data;

    template <typename T>
    operator T*() const
    {
        return reinterpret_cast<T*>(data);
    }
};

class Job {
public:
    std::string kernel;
    uint64_t blocks = 1;

    explicit Job(const char* path)
    {
        open_session();
        std::signal(SIGTERM, end_on_signal);
        std::ifstream file(path);
        std::string line;
        while (std::getline(file, line)) {
            read(line);
        }
    }

    size_t size() const { return arguments_.size(); }
    AnyPointer pointer(size_t number) const { return AnyPointer{arguments_[number].data}; }

    template <typename T>
    T scalar(size_t number) const
    {
        T value{};
        const std::string& bytes = arguments_[number].bytes;
        std::memcpy(static_cast<void*>(&value), bytes.data(), std::min(sizeof(T), bytes.size()));
        return value;
    }

    // Writes the buffers back; the program's result.
    int finish() const
    {
        for (const Argument& argument : arguments_) {
            if (!argument.path.empty()) {
                std::ofstream file(argument.path, std::ios::binary);
                file.write(reinterpret_cast<const char*>(argument.data), static_cast<std::streamsize>(argument.size));
            }
        }
        return 0;
    }

private:
    struct Argument {
        std::string path;
        std::string bytes;
        uint8_t* data = nullptr;
        size_t size = 0;
    };
    std::vector<Argument> arguments_;

    void read(const std::string& line)
    {
        std::istringstream words(line);
        std::string kind, text;
        words >> kind;
        if (kind == "kernel") {
            std::getline(words >> std::ws, kernel);
        } else if (kind == "blocks") {
            words >> blocks;
        } else if (kind == "array") {
            Argument argument;
            std::string name;
            words >> name >> argument.size >> argument.path;
            argument.data = allocate(argument.size, name, true);
            std::ifstream file(argument.path, std::ios::binary);
            file.read(reinterpret_cast<char*>(argument.data), static_cast<std::streamsize>(argument.size));
            arguments_.push_back(argument);
        } else if (kind == "workspace") {
            Argument argument;
            words >> argument.size;
            argument.data = allocate(argument.size, "workspace", false);
            arguments_.push_back(argument);
        } else if (kind == "scalar") {
            words >> text;
            Argument argument;
            for (size_t k = 0; k + 1 < text.size(); k += 2) {
                argument.bytes += static_cast<char>(std::stoi(text.substr(k, 2), nullptr, 16));
            }
            arguments_.push_back(argument);
        }
    }

    // Room after each buffer keeps neighbours apart.
    static uint8_t* allocate(size_t bytes, const std::string& name, bool initialised)
    {
        const size_t room = (bytes + 511) / 512 * 512 + 512;
        uint8_t* data = static_cast<uint8_t*>(std::aligned_alloc(512, room));
        std::memset(data, fill_byte(), room);
        global_memory().add(data, bytes, name, initialised);
        return data;
    }
};

}  // namespace ascendc_host
