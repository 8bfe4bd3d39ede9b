#include "apps/support/json_file.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace sumwire::apps {

JsonFile::JsonFile(std::string path) : path_(std::move(path)) {
    if (!path_.empty() && !write())
        throw std::invalid_argument(fmt::format(
            "--json {}: cannot write there ({}); name a file in a directory that exists "
            "and that you may write to",
            path_, std::strerror(errno)));
}

void JsonFile::add(nlohmann::ordered_json row) {
    if (!path_.empty()) rows_.push_back(std::move(row));
}

void JsonFile::save() const {
    if (!path_.empty() && !write())
        throw std::runtime_error(
            fmt::format("--json {}: writing failed ({}); free space there or "
                        "name another file",
                        path_, std::strerror(errno)));
}

bool JsonFile::write() const {
    std::ofstream file(path_, std::ios::trunc);
    file << rows_.dump(2) << '\n';
    file.close();
    return !file.fail();
}

}  // namespace sumwire::apps
