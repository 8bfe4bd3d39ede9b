#include "apps/bench/codec_measure.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "apps/bench/plain_combine.h"
#include "apps/bench/statistics.h"
#include "nic/time.h"

namespace sumwire::apps {
namespace {

nic::Op op_of(gpu::Combine combine) {
    switch (combine) {
        case gpu::Combine::bit_or:
            return nic::Op::bit_or;
        case gpu::Combine::add_i32:
            return nic::Op::add_i32;
        case gpu::Combine::max_u8:
            return nic::Op::max_u8;
        case gpu::Combine::add_f32:
            return nic::Op::add_f32;
    }
    return nic::Op::none;
}

// What the network does to the current round of all ranks.
void combine_round(const std::vector<std::unique_ptr<gpu::ChunkCodec>>& ranks) {
    const auto sums = ranks.front()->messages();
    for (std::size_t message = 0; message < sums.size(); ++message) {
        for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
            const auto messages = ranks[rank]->messages();
            if (messages.size() != sums.size() ||
                messages[message].bytes.size() != sums[message].bytes.size())
                throw std::runtime_error("ranks disagree on the messages of a chunk");
            plain_combine(op_of(sums[message].combine), sums[message].bytes,
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
    CodecBench(const std::vector<std::vector<float>>& gradients, const gpu::CodecConfig& config)
        : gradients_(gradients), elements_(gradients.front().size()) {
        for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
            codecs_.push_back(gpu::make_chunk_codec(gpu::host_device(), config));
            buffers_.push_back(gpu::host_device().allocate(elements_ * sizeof(float)));
        }
        unions_.assign((elements_ + gpu::chunk_elements - 1) / gpu::chunk_elements,
                       gpu::ChunkTask::unknown_union);
    }

    struct Pass {
        std::uint64_t wire_bytes = 0;
        std::uint64_t stalls = 0;
        Time encode{0};
        Time decode{0};
        Time memcpy{0};
    };

    Pass pass(bool warmed) {
        Pass total;
        const auto start = steady_now();
        restore(0);
        total.memcpy = steady_now() - start;
        for (std::size_t rank = 1; rank < codecs_.size(); ++rank)
            restore(rank);
        for (std::size_t chunk = 0; chunk < unions_.size(); ++chunk)
            run_chunk(chunk, warmed, total);
        return total;
    }

    bool all_right(const SumCheck& is_right) const {
        if (!is_right(result(0))) return false;
        for (std::size_t rank = 1; rank < codecs_.size(); ++rank)
            if (std::memcmp(result(rank).data(), result(0).data(), result(0).size_bytes()) != 0)
                return false;
        return true;
    }

  private:
    std::span<float> result(std::size_t rank) const {
        return {reinterpret_cast<float*>(buffers_[rank].bytes().data()), elements_};
    }

    void restore(std::size_t rank) {
        std::memcpy(result(rank).data(), gradients_[rank].data(), elements_ * sizeof(float));
    }

    void run_chunk(std::size_t chunk, bool warmed, Pass& total) {
        const auto first = chunk * gpu::chunk_elements;
        gpu::ChunkTask task{
            .count = static_cast<std::uint32_t>(
                std::min<std::size_t>(gpu::chunk_elements, elements_ - first)),
            .seed = ++seed_,
            .expected_union = warmed ? unions_[chunk] : gpu::ChunkTask::unknown_union};

        std::array<Time, gpu::ChunkCodec::max_rounds + 1> steps{};
        std::size_t step = 0;
        auto progress = gpu::Progress::exchange;
        while (progress == gpu::Progress::exchange) {
            if (step > 0) {
                total.wire_bytes += bytes_of(codecs_.front()->messages());
                combine_round(codecs_);
            }
            for (std::size_t rank = codecs_.size(); rank-- > 0;) {
                task.values = result(rank).data() + first;
                const auto start = steady_now();
                progress = step == 0 ? codecs_[rank]->begin(task) : codecs_[rank]->advance();
                if (rank == 0) steps.at(step) = steady_now() - start;
            }
            ++step;
        }
        if (progress != gpu::Progress::done)
            throw std::runtime_error("a chunk's aggregate contradicts itself");

        const bool stalled = codecs_.front()->stalled();
        const auto decoding = stalled ? step - 2 : step - 1;
        for (std::size_t i = 0; i < step; ++i)
            (i < decoding ? total.encode : total.decode) += steps[i];
        total.stalls += stalled ? 1 : 0;
        unions_[chunk] = codecs_.front()->union_size();
    }

    const std::vector<std::vector<float>>& gradients_;
    std::size_t elements_;
    std::vector<std::unique_ptr<gpu::ChunkCodec>> codecs_;
    std::vector<gpu::DeviceBuffer> buffers_;
    std::vector<std::uint32_t> unions_;  // of each chunk in the last pass
    std::uint64_t seed_ = 0;
};

double seconds(Time time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

CodecMeasurement measure_codec(const std::vector<std::vector<float>>& gradients,
                               const CodecRun& run, const SumCheck& is_right) {
    CodecBench bench(gradients, run.config);
    CodecMeasurement result;
    bench.pass(false);
    result.exact = bench.all_right(is_right);

    std::vector<double> encode;
    std::vector<double> decode;
    std::vector<double> copy;
    for (unsigned i = 0; i < run.repetitions; ++i) {
        const auto pass = bench.pass(run.warmed);
        result.exact &= bench.all_right(is_right);
        result.wire_bytes = pass.wire_bytes;
        result.stalls = pass.stalls;
        encode.push_back(seconds(pass.encode));
        decode.push_back(seconds(pass.decode));
        copy.push_back(seconds(pass.memcpy));
    }
    result.encode_seconds = median(encode);
    result.decode_seconds = median(decode);
    result.memcpy_seconds = median(copy);
    return result;
}

}  // namespace sumwire::apps
