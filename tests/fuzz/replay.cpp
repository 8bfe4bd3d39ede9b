// Runs a fuzz target without libFuzzer: over the files of a corpus, then over random changes of
// them, always the same ones, for a number of seconds.
//
//   replay SECONDS CORPUS_FOLDER
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> read_corpus(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<Bytes> corpus;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return corpus;
}

void change(Bytes& bytes, const std::vector<Bytes>& corpus, std::mt19937_64& random) {
    for (auto changes = 1 + random() % 8; changes > 0; --changes) {
        const std::size_t at = random() % (bytes.size() + 1);
        switch (random() % 4) {
            case 0:
                if (at < bytes.size()) bytes[at] = static_cast<std::uint8_t>(random());
                break;
            case 1:
                if (at < bytes.size()) bytes[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
                break;
            case 2:
                bytes.resize(at);
                break;
            default: {
                const Bytes& other = corpus[random() % corpus.size()];
                const auto from = other.begin() + static_cast<std::ptrdiff_t>(random() % (other.size() + 1));
                bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), from,
                             from + std::min<std::ptrdiff_t>(64, other.end() - from));
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s SECONDS CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    const auto corpus = read_corpus(argv[2]);
    if (corpus.empty()) {
        std::fprintf(stderr, "no files in %s\n", argv[2]);
        return 2;
    }
    for (const Bytes& bytes : corpus)
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    std::mt19937_64 random(1);
    std::size_t runs = corpus.size();
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(std::atoi(argv[1]));
    while (Clock::now() < end) {
        Bytes bytes = corpus[random() % corpus.size()];
        change(bytes, corpus, random);
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        ++runs;
    }
    std::printf("%zu inputs\n", runs);
}
