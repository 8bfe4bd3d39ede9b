// The examples, built against the installed library as a user would, and run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "apps/support/temporary_directory.h"
#include "tests/integration/run/command.h"

namespace sumwire::test {
namespace {

class Installed : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        directory_ = new apps::TemporaryDirectory;
        const auto installed =
            run_command(std::string("meson install -C '") + std::getenv("SUMWIRE_BUILD_ROOT") +
                        "' --no-rebuild --destdir '" + directory_->path().string() + "'");
        ASSERT_EQ(installed.status, 0) << installed.output << installed.error;
    }
    static void TearDownTestSuite() { delete directory_; }

    // Where things would be with the prefix in the place of its root.
    static std::string prefix() {
        return directory_->path().string() + std::getenv("SUMWIRE_PREFIX");
    }
    static std::string library_directory() {
        return prefix() + "/" + std::getenv("SUMWIRE_LIBRARY_DIRECTORY");
    }

    static void build_and_run(const std::string& compiler, const std::string& source) {
        const std::string program = directory_->path().string() + "/example";
        const auto built = run_command(
            "export PKG_CONFIG_PATH='" + library_directory() + "/pkgconfig'; " + compiler + " '" +
            (source_root() / "apps/examples" / source).string() + "' -o '" + program +
            "' $(pkg-config --define-variable=prefix='" + prefix() + "' --cflags --libs sumwire)");
        ASSERT_EQ(built.status, 0) << built.error;
        const auto run = run_command("LD_LIBRARY_PATH='" + library_directory() + "' '" + prefix() +
                                     "/bin/sumwire-run' --workers 4 -- '" + program + "'");
        EXPECT_EQ(run.status, 0) << run.output << run.error;
        for (int rank = 0; rank < 4; ++rank) {
            const auto line = "rank " + std::to_string(rank) + " of 4: 0 elements are wrong";
            EXPECT_NE(run.output.find(line), std::string::npos) << run.output;
        }
        const auto embedded =
            run_command("LD_LIBRARY_PATH='" + library_directory() + "' '" + prefix() +
                        "/bin/sumwire-run' --embedded -- '" + program + "'");
        EXPECT_EQ(embedded.status, 0) << embedded.output << embedded.error;
    }

  private:
    static inline apps::TemporaryDirectory* directory_ = nullptr;
};

TEST_F(Installed, ServesTheExampleInCpp) {
    build_and_run("c++ -std=c++20 -Wall -Werror", "allreduce.cpp");
}

TEST_F(Installed, ServesTheExampleInC) {
    build_and_run("cc -std=c99 -Wall -Werror", "allreduce.c");
}

}  // namespace
}  // namespace sumwire::test
