#include "apps/bench/codec_measure.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "apps/bench/plain_combine.h"
#include "apps/support/statistics.h"
#include "gpu/codec/chunk_codec.h"
#include "nic/time.h"
#include "runtime/communicator/choices.h"
#include "runtime/engine/codec_policy.h"
#include "runtime/engine/wire_op.h"

namespace sumwire::apps {
namespace {

// Until a chunk's codec no longer changes: unknown, then known, then known of the codec it took.
constexpr unsigned passes_to_steady = 3;

using Ranks = std::vector<std::unique_ptr<gpu::ChunkCodec>>;

// What the network does to the current round of all ranks.
void combine_round(const Ranks& ranks) {
    const auto sums = ranks.front()->messages();
    for (std::size_t message = 0; message < sums.size(); ++message) {
        for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
            const auto messages = ranks[rank]->messages();
            if (messages.size() != sums.size() ||
                messages[message].bytes.size() != sums[message].bytes.size())
                throw std::runtime_error("ranks disagree on the messages of a chunk");
            plain_combine(runtime::wire_op(sums[message].combine), sums[message].bytes,
                          messages[message].bytes);
        }
        for (std::size_t rank = 1; rank < ranks.size(); ++rank)
            std::ranges::copy(sums[message].bytes, ranks[rank]->messages()[message].bytes.begin());
    }
}

std::uint64_t bytes_of(std::span<const gpu::Message> messages) {
    std::uint64_t bytes = 0;
    for (const auto& message : messages)
        bytes += message.bytes.size();
    return bytes;
}

class CodecBench {
  public:
    CodecBench(const TypedGradients& gradients, const CodecRun& run)
        : gradients_(gradients), run_(run), element_bytes_(gpu::size_of(gradients.type)) {
        for (const auto& rank : gradients.ranks)
            buffers_.push_back(gpu::host_device().allocate(rank.size()));
        facts_.resize((gradients.elements() + gpu::chunk_elements - 1) / gpu::chunk_elements);
    }

    struct Pass {
        std::uint64_t wire_bytes = 0;
        std::uint64_t stalls = 0;
        Time encode{0};
        Time decode{0};
        Time memcpy{0};
    };

    Pass pass() {
        Pass total;
        const auto start = steady_now();
        restore(0);
        total.memcpy = steady_now() - start;
        for (std::size_t rank = 1; rank < buffers_.size(); ++rank)
            restore(rank);
        for (std::size_t chunk = 0; chunk < facts_.size(); ++chunk)
            run_chunk(chunk, total);
        return total;
    }

    bool all_right(const SumCheck& is_right) const {
        if (!is_right(result(0))) return false;
        return std::ranges::all_of(buffers_, [this](const auto& buffer) {
            return std::ranges::equal(result(buffer), result(0));
        });
    }

  private:
    std::span<std::byte> result(const gpu::DeviceBuffer& buffer) const {
        return buffer.bytes().first(gradients_.bytes());
    }
    std::span<std::byte> result(std::size_t rank) const { return result(buffers_[rank]); }

    void restore(std::size_t rank) {
        std::memcpy(result(rank).data(), gradients_.ranks[rank].data(), gradients_.bytes());
    }

    gpu::Codec codec_of(std::uint32_t count, const runtime::ChunkFacts& facts) const {
        if (const auto pinned = runtime::to_gpu(run_.choice.codec)) return *pinned;
        return runtime::choose_codec({.count = count,
                                      .operation_chunks = facts_.size(),
                                      .type = gradients_.type,
                                      .arithmetic = runtime::to_gpu(run_.choice.arithmetic),
                                      .link = run_.link},
                                     facts);
    }

    // Made when first needed: Codec::automatic seldom takes all of them.
    const Ranks& ranks_of(gpu::Codec codec) {
        Ranks& ranks = codecs_[codec];
        if (!ranks.empty()) return ranks;
        const gpu::CodecConfig config{.codec = codec,
                                      .arithmetic = runtime::to_gpu(run_.choice.arithmetic),
                                      .world_size = static_cast<std::uint32_t>(buffers_.size()),
                                      .type = gradients_.type};
        for (std::size_t rank = 0; rank < buffers_.size(); ++rank)
            ranks.push_back(gpu::make_chunk_codec(gpu::host_device(), config));
        return ranks;
    }

    void run_chunk(std::size_t chunk, Pass& total) {
        const auto first = chunk * gpu::chunk_elements;
        runtime::ChunkFacts& facts = facts_[chunk];
        gpu::ChunkTask task;
        task.count = static_cast<std::uint32_t>(
            std::min<std::size_t>(gpu::chunk_elements, gradients_.elements() - first));
        task.seed = ++seed_;
        task.expected_union = facts.union_size;
        const gpu::Codec codec = codec_of(task.count, facts);
        const Ranks& ranks = ranks_of(codec);

        std::array<Time, gpu::ChunkCodec::max_rounds + 1> steps{};
        std::size_t step = 0;
        auto progress = gpu::Progress::exchange;
        while (progress == gpu::Progress::exchange) {
            if (step > 0) {
                total.wire_bytes += bytes_of(ranks.front()->messages());
                combine_round(ranks);
            }
            for (std::size_t rank = ranks.size(); rank-- > 0;) {
                task.values = result(rank).data() + first * element_bytes_;
                const auto start = steady_now();
                progress = step == 0 ? ranks[rank]->begin(task) : ranks[rank]->advance();
                if (rank == 0) steps.at(step) = steady_now() - start;
            }
            ++step;
        }
        if (progress != gpu::Progress::done)
            throw std::runtime_error("a chunk's aggregate contradicts itself");

        const bool stalled = ranks.front()->stalled();
        const auto decoding = stalled ? step - 2 : step - 1;
        for (std::size_t i = 0; i < step; ++i)
            (i < decoding ? total.encode : total.decode) += steps[i];
        total.stalls += stalled ? 1 : 0;
        learn(codec, *ranks.front(), facts);
    }

    // As the engine does: a dense chunk tells nothing of its zeros.
    static void learn(gpu::Codec codec, const gpu::ChunkCodec& done, runtime::ChunkFacts& facts) {
        facts.uses = codec == facts.codec ? static_cast<std::uint8_t>(facts.uses + 1) : 0;
        facts.codec = codec;
        if (codec != gpu::Codec::dense) facts.union_size = done.union_size();
    }

    const TypedGradients& gradients_;
    const CodecRun& run_;
    std::size_t element_bytes_;
    std::map<gpu::Codec, Ranks> codecs_;
    std::vector<gpu::DeviceBuffer> buffers_;
    std::vector<runtime::ChunkFacts> facts_;  // of each chunk, from the pass before
    std::uint64_t seed_ = 0;
};

double seconds(Time time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

CodecMeasurement measure_codec(const TypedGradients& gradients, const CodecRun& run,
                               const SumCheck& is_right) {
    CodecBench bench(gradients, run);
    CodecMeasurement result;
    result.exact = true;
    for (unsigned i = 0; i < passes_to_steady; ++i) {
        const auto pass = bench.pass();
        if (i == 0) result.first_wire_bytes = pass.wire_bytes;
        result.exact &= bench.all_right(is_right);
    }
    std::vector<double> encode;
    std::vector<double> decode;
    std::vector<double> copy;
    std::vector<std::uint64_t> wire_bytes;
    for (unsigned i = 0; i < run.repetitions; ++i) {
        const auto pass = bench.pass();
        result.exact &= bench.all_right(is_right);
        result.stalls = pass.stalls;
        wire_bytes.push_back(pass.wire_bytes);
        encode.push_back(seconds(pass.encode));
        decode.push_back(seconds(pass.decode));
        copy.push_back(seconds(pass.memcpy));
    }
    result.wire_bytes = median(wire_bytes);
    result.encode_seconds = median(encode);
    result.decode_seconds = median(decode);
    result.memcpy_seconds = median(copy);
    return result;
}

}  // namespace sumwire::apps
