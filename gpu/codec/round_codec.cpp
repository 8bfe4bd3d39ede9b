#include "gpu/codec/round_codec.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gpu/codec/carve.h"
#include "gpu/codec/compact.h"
#include "gpu/codec/float_bits.h"
#include "gpu/codec/float_environment.h"
#include "gpu/codec/half_floats.h"

namespace sumwire::gpu {

namespace {

constexpr std::size_t index_words = blocks_of(chunk_elements);
constexpr std::size_t level_words_of_chunk = 2 * std::size_t{block_set_words(chunk_elements)};

std::size_t wide_elements(DataType type) {
    return size_of(type) == sizeof(float) ? 0 : chunk_elements;
}

// What the encoders write beyond the words.
std::size_t with_slack(std::size_t words) {
    return words + ValueCoder::slack;
}

}  // namespace

RoundCodec::RoundCodec(Parts parts)
    : coder_(std::move(parts.coder)),
      type_(parts.type),
      words_(parts.device, ValueCoder::slack),
      request_words_(parts.device, ValueCoder::slack) {
    const std::size_t header_bytes = coder_->header_bytes(index_words);
    const std::size_t payload_bytes = 2 * carved_bytes<std::uint32_t>(index_words) +
                                      carved_bytes<std::uint32_t>(level_words_of_chunk) +
                                      carved_bytes<std::byte>(header_bytes) +
                                      carved_bytes<std::uint32_t>(with_slack(parts.words)) +
                                      carved_bytes<std::uint32_t>(with_slack(parts.request_words));
    const std::size_t own_bytes = carved_bytes<std::uint32_t>(index_words) +
                                  carved_bytes<float>(with_slack(chunk_elements)) +
                                  carved_bytes<float>(wide_elements(type_)) +
                                  carved_bytes<std::uint32_t>(parts.scratch_words);
    memory_ = parts.device.allocate(payload_bytes + own_bytes);
    payload_ = memory_.bytes().first(payload_bytes);

    std::span<std::byte> memory = memory_.bytes();
    index_ = carve<std::uint32_t>(memory, index_words);
    partial_ = carve<std::uint32_t>(memory, index_words);
    level_ = carve<std::uint32_t>(memory, level_words_of_chunk);
    header_ = carve<std::byte>(memory, header_bytes);
    words_.set_home(carve<std::uint32_t>(memory, with_slack(parts.words)));
    request_words_.set_home(carve<std::uint32_t>(memory, with_slack(parts.request_words)));
    own_index_ = carve<std::uint32_t>(memory, index_words);
    results_ = carve<float>(memory, with_slack(chunk_elements));
    wide_ = carve<float>(memory, wide_elements(type_));
    scratch_ = carve<std::uint32_t>(memory, parts.scratch_words);
}

Progress RoundCodec::begin(const ChunkTask& task) {
    const FloatEnvironment environment;
    task_ = task;
    union_size_ = 0;
    stalled_ = false;
    minus_zeros_ = false;
    clear_messages();
    widen();
    return start();
}

Progress RoundCodec::advance() {
    const FloatEnvironment environment;
    return step();
}

void RoundCodec::widen() {
    if (size_of(type_) == sizeof(float)) {
        values_ = {static_cast<float*>(task_.values), task_.count};
        return;
    }
    values_ = wide_.first(task_.count);
    const std::span narrow(static_cast<const std::uint16_t*>(task_.values), task_.count);
    type_ == DataType::bf16 ? widen_bf16(narrow, values_) : widen_f16(narrow, values_);
}

void RoundCodec::write_back() {
    if (size_of(type_) == sizeof(float)) return;
    const std::span narrow(static_cast<std::uint16_t*>(task_.values), task_.count);
    type_ == DataType::bf16 ? narrow_bf16(values_, narrow) : narrow_f16(values_, narrow);
}

BlockSet RoundCodec::all_blocks() {
    const std::uint32_t blocks = blocks_of(task_.count);
    const std::span all = std::span(all_blocks_).first(block_set_words(task_.count));
    index_all(blocks, all);
    return all;
}

void RoundCodec::add_message(Combine combine, std::span<std::byte> bytes) {
    messages_[message_count_++] = {combine, bytes};
}

void RoundCodec::add_message(Combine combine, std::span<std::uint32_t> words) {
    add_message(combine, std::as_writable_bytes(words));
}

Progress RoundCodec::send_values(std::uint32_t union_size, std::span<std::uint32_t>& sent) {
    const std::size_t count = coder_->words(index());
    if (count == ValueCoder::no_words) return Progress::inconsistent;
    sent = words_.take(count);
    if (count == 0) return finish(sent, union_size);
    coder_->encode(values(), index(), sent);
    clear_messages();
    add_message(coder_->combine(), sent);
    return Progress::exchange;
}

Progress RoundCodec::finish(std::span<std::uint32_t> words, std::uint32_t union_size) {
    const std::span<float> results = results_.first(population(index()));
    const Rounding rounding =
        size_of(type_) == sizeof(float) ? Rounding::nearest : Rounding::odd;
    const float* const decoded =
        coder_->decode(words, index(), task_.reduction, rounding, results);
    if (decoded == nullptr) return Progress::inconsistent;
    if (minus_zeros_) forget_minus_zeros();
    scatter(decoded, index(), values_);
    write_back();
    union_size_ = union_size;
    return Progress::done;
}

// Where nothing is scattered to, another rank may have +0.
void RoundCodec::forget_minus_zeros() {
    for (float& value : values_)
        value = value == 0 ? 0.0f : value;
}

Progress RoundCodec::finish_not_finite(std::uint32_t union_size) {
    std::ranges::fill(values_, std::bit_cast<float>(quiet_nan_bits));
    write_back();
    union_size_ = union_size;
    return Progress::done;
}

}  // namespace sumwire::gpu
