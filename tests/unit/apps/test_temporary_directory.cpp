// Directories go with their owner, whichever way that ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "apps/support/temporary_directory.h"

namespace sumwire::apps {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectories : public testing::Test {
  protected:
    TemporaryDirectories() {
        std::string name = "/tmp/directories-XXXXXX";
        parent_ = mkdtemp(name.data());
        setenv("TMPDIR", parent_.c_str(), 1);
    }
    ~TemporaryDirectories() override {
        unsetenv("TMPDIR");
        fs::remove_all(parent_);
    }

    std::set<std::string> names() const {
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator(parent_))
            found.insert(entry.path().filename().string());
        return found;
    }

    fs::path parent_;
};

TEST_F(TemporaryDirectories, AreRemovedWithWhatIsInThem) {
    {
        const TemporaryDirectory directory;
        std::ofstream(directory.path() / "file") << 1;
        EXPECT_EQ(names().size(), 1U);
    }
    EXPECT_TRUE(names().empty());
}

TEST_F(TemporaryDirectories, OfAKilledProcessAreRemovedByTheNext) {
    const pid_t child = fork();
    if (child == 0) {
        const TemporaryDirectory abandoned;
        raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
    ASSERT_EQ(names().size(), 1U);
    const TemporaryDirectory next;
    EXPECT_EQ(names(), std::set<std::string>{next.path().filename().string()});
}

TEST_F(TemporaryDirectories, InUseAreLeftAlone) {
    const TemporaryDirectory first;
    const TemporaryDirectory second;
    EXPECT_EQ(names().size(), 2U);
}

TEST_F(TemporaryDirectories, OfOthersAreLeftAlone) {
    fs::create_directory(parent_ / "sumwire-source");
    fs::create_directory(parent_ / "other");
    const TemporaryDirectory directory;
    EXPECT_EQ(names().size(), 3U);
}

}  // namespace
}  // namespace sumwire::apps
