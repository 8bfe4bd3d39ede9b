// What the codecs of sums have in common: memory, messages, the first and the last step.
#pragma once

#include <array>
#include <memory>

#include "gpu/codec/block_index.h"
#include "gpu/codec/chunk_codec.h"
#include "gpu/codec/value_coder.h"
#include "gpu/codec/word_buffer.h"

namespace sumwire::gpu {

class RoundCodec : public ChunkCodec {
  public:
    Progress begin(const ChunkTask& task) final;
    Progress advance() final;
    std::span<const Message> messages() const final {
        return std::span(messages_).first(message_count_);
    }
    std::uint32_t union_size() const final { return union_size_; }
    bool stalled() const final { return stalled_; }
    std::span<std::byte> payload_memory() final { return payload_; }

  protected:
    struct Parts {
        Device& device;
        std::unique_ptr<ValueCoder> coder;
        DataType type = DataType::f32;  // of 16 or 32 bits
        // The usual numbers of words; messages of more lie outside the payload memory.
        std::size_t words = 0;          // values or sketch of a chunk
        std::size_t request_words = 0;  // the repair's
        std::size_t scratch_words = 0;  // the codec's own
    };
    explicit RoundCodec(Parts parts);

    // Encodes the first round. The task is set, the messages are cleared.
    virtual Progress start() = 0;
    // Goes on after the round's messages were combined.
    virtual Progress step() = 0;

    const ChunkTask& task() const { return task_; }
    // The chunk's, widened to floats.
    std::span<const float> values() const { return values_; }
    ValueCoder& coder() { return *coder_; }

    // This rank's non-zeros, once scan() was called.
    std::span<std::uint32_t> own_index() { return own_index_.first(blocks_of(task_.count)); }
    void scan() { minus_zeros_ = coder_->scan(values(), own_index()); }

    // Of all ranks, once it was combined or set.
    std::span<std::uint32_t> index() { return index_.first(blocks_of(task_.count)); }
    bool index_is_possible() { return is_union_of(index(), own_index(), task_.count); }

    // Every block of the chunk.
    BlockSet all_blocks();
    std::span<std::byte> header(std::uint32_t blocks) {
        return header_.first(coder_->header_bytes(blocks));
    }
    BlockLevel level() {
        return BlockLevel::in(level_.first(2 * std::size_t{block_set_words(task_.count)}));
    }
    std::span<std::uint32_t> level_words() {
        return level_.first(2 * std::size_t{block_set_words(task_.count)});
    }
    std::span<std::uint32_t> partial() { return partial_; }

    WordBuffer& words() { return words_; }
    WordBuffer& request_words() { return request_words_; }
    std::span<std::uint32_t> scratch() { return scratch_; }

    void clear_messages() { message_count_ = 0; }
    void add_message(Combine combine, std::span<std::byte> bytes);
    void add_message(Combine combine, std::span<std::uint32_t> words);

    // Encodes the elements of index() and makes them the round's message, which `sent` is set to;
    // ends the chunk if there are none.
    Progress send_values(std::uint32_t union_size, std::span<std::uint32_t>& sent);
    // Ends the chunk: puts the results of the combined words, for the elements of index(), in
    // place.
    Progress finish(std::span<std::uint32_t> words, std::uint32_t union_size);
    Progress finish_not_finite(std::uint32_t union_size);

    void set_stalled() { stalled_ = true; }

  private:
    void widen();
    void forget_minus_zeros();
    void write_back();

    std::unique_ptr<ValueCoder> coder_;
    DataType type_;
    DeviceBuffer memory_;
    std::span<std::byte> payload_;
    std::span<std::uint32_t> index_;
    std::span<std::uint32_t> level_;
    std::span<std::uint32_t> partial_;
    std::span<std::byte> header_;
    WordBuffer words_;
    WordBuffer request_words_;
    std::span<std::uint32_t> own_index_;
    std::span<float> results_;
    std::span<float> wide_;  // of 16-bit types
    std::span<std::uint32_t> scratch_;
    std::array<std::uint32_t, block_set_words(chunk_elements)> all_blocks_{};

    ChunkTask task_;
    std::span<float> values_;
    std::array<Message, max_messages> messages_;
    std::size_t message_count_ = 0;
    std::uint32_t union_size_ = 0;
    bool minus_zeros_ = false;
    bool stalled_ = false;
};

struct CodecParts {
    Device& device;
    std::unique_ptr<ValueCoder> coder;
    DataType type = DataType::f32;
    std::size_t payload_words = chunk_elements;
};
std::unique_ptr<ChunkCodec> make_dense_codec(CodecParts parts);
std::unique_ptr<ChunkCodec> make_packed_codec(CodecParts parts);

// What stands for a word in the sketch.
enum class SketchKeys : std::uint8_t {
    ordinals,  // the word's ordinal among the chunk's words
    positions  // where the union's size is known beforehand, the element's position in the chunk:
               // words and elements are one to one, and the index travels along
};
std::unique_ptr<ChunkCodec> make_sketch_codec(CodecParts parts, SketchKeys keys);

}  // namespace sumwire::gpu
