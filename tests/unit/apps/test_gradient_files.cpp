// Which files make up a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/support/gradient_files.h"
#include "tests/unit/apps/scratch.h"

namespace sumwire::apps {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class Gradients : public Scratch {
  protected:
    void add(const std::string& name) const { write(name, float32_npy("(1,)", "xxxx")); }

    std::string error(std::optional<unsigned> step = {}) const {
        return message_of<InputError>([&] { find_gradients({directory()}, step); });
    }
};

TEST_F(Gradients, TakesTheLastStepInOrderOfRanks) {
    for (const char* name :
         {"step002-worker0.npy", "step040-worker1.npy.zst", "step040-worker0.npy", "notes.txt",
          "step100-worker0.txt", "step1-workerX.npy"})
        add(name);
    for (unsigned worker = 2; worker <= 10; ++worker)
        add("step040-worker" + std::to_string(worker) + ".npy");
    const auto found = find_gradients({directory()}, {});
    EXPECT_EQ(found.step, "step040");
    EXPECT_EQ(found.model, directory().filename());
    ASSERT_EQ(found.ranks.size(), 11U);
    EXPECT_EQ(found.ranks[1].filename(), "step040-worker1.npy.zst");
    EXPECT_EQ(found.ranks[10].filename(), "step040-worker10.npy");
}

TEST_F(Gradients, NamesTheModelWhateverThePathLooksLike) {
    add("step1-worker0.npy");
    EXPECT_EQ(find_gradients({directory() / ""}, {}).model, directory().filename());
    EXPECT_EQ(find_gradients({directory() / "."}, {}).model, directory().filename());
}

TEST_F(Gradients, TakesTheStepThatIsAskedFor) {
    add("step002-worker0.npy");
    add("step040-worker0.npy");
    EXPECT_EQ(find_gradients({directory()}, 2).step, "step002");
    EXPECT_THAT(error(3), AllOf(HasSubstr("has no step 3"), HasSubstr("2, 40")));
    EXPECT_EQ(find_steps(directory()).size(), 2U);
}

TEST_F(Gradients, NamesWhatIsMissingOrAmbiguous) {
    EXPECT_THAT(error(), AllOf(HasSubstr("holds no gradients"), HasSubstr("step040-worker0.npy")));
    add("step040-worker0.npy");
    add("step040-worker2.npy");
    EXPECT_THAT(error(), HasSubstr("lacks worker 1 of step040"));
    add("step040-worker1.npy");
    add("step040-worker1.npy.zst");
    EXPECT_THAT(error(), HasSubstr("same worker of the same step"));
}

TEST_F(Gradients, TakesFilesAsTheyAreListed) {
    add("b.npy");
    add("a.npy");
    const std::vector<fs::path> listed{directory() / "b.npy", directory() / "a.npy"};
    EXPECT_EQ(find_gradients(listed, {}).ranks, listed);
    EXPECT_THAT(message_of<InputError>([&] { find_gradients(listed, 4); }), HasSubstr("a step"));
    EXPECT_THAT(message_of<InputError>([&] {
                    find_gradients({listed[0], directory()}, {});
                }),
                HasSubstr("is a directory among"));
    EXPECT_THAT(message_of<InputError>([] { find_gradients({}, {}); }), HasSubstr("no gradients"));
}

TEST_F(Gradients, NamesBothFilesIfLengthsDiffer) {
    write("a.npy", float32_npy("(1,)", "xxxx"));
    write("b.npy", float32_npy("(2,)", "xxxxxxxx"));
    const GradientFiles files{"files", "", {directory() / "a.npy", directory() / "b.npy"}};
    EXPECT_THAT(message_of<InputError>([&] { read_gradients(files); }),
                AllOf(HasSubstr("b.npy' has 2 elements"), HasSubstr("a.npy' has 1")));
}

}  // namespace
}  // namespace sumwire::apps
