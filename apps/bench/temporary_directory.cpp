#include "apps/bench/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace sumwire::apps {

TemporaryDirectory::TemporaryDirectory() {
    auto name = (std::filesystem::temp_directory_path() / "sumwire-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(),
                                "cannot make " + name + "; set TMPDIR to a writable directory");
    path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace sumwire::apps
