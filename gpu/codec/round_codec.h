// What the codecs have in common: memory, messages, the first and the last step.
#pragma once

#include <array>
#include <memory>

#include "gpu/codec/chunk_codec.h"
#include "gpu/codec/value_coder.h"
#include "gpu/codec/word_buffer.h"

namespace sumwire::gpu {

class RoundCodec : public ChunkCodec {
  public:
    Progress begin(const ChunkTask& task) final;
    std::span<const Message> messages() const final {
        return std::span(messages_).first(message_count_);
    }
    std::uint32_t union_size() const final { return union_size_; }
    bool stalled() const final { return stalled_; }
    std::span<std::byte> payload_memory() final { return payload_; }

  protected:
    // The usual numbers of words; messages of more lie outside the payload memory.
    struct Sizes {
        std::size_t words = 0;          // values or sketch of a chunk
        std::size_t request_words = 0;  // the repair's
        std::size_t scratch_words = 0;  // the codec's own
    };
    RoundCodec(Device& device, std::unique_ptr<ValueCoder> coder, const Sizes& sizes);

    // The task is set.
    virtual Progress start() = 0;

    const ChunkTask& task() const { return task_; }
    std::span<const float> values() const { return {task_.values, task_.count}; }
    ValueCoder& coder() { return *coder_; }

    // This rank's non-zeros.
    std::span<std::uint32_t> own_index() { return own_index_.first(blocks_of(task_.count)); }
    // Of all ranks, once it was combined or set.
    std::span<std::uint32_t> index() { return index_.first(blocks_of(task_.count)); }
    std::span<std::byte> header() { return header_.first(coder_->header_bytes(task_.count)); }
    WordBuffer& words() { return words_; }
    WordBuffer& request_words() { return request_words_; }
    std::span<std::uint32_t> scratch() { return scratch_; }

    void mark_own_nonzeros();
    bool index_is_possible();
    void clear_messages() { message_count_ = 0; }
    void add_message(Combine combine, std::span<std::byte> bytes);
    void add_message(Combine combine, std::span<std::uint32_t> words);

    // Ends the chunk: puts the results of the combined words, for the elements of index(), in
    // place.
    Progress finish(std::span<const std::uint32_t> words, std::uint32_t union_size);
    Progress finish_not_finite(std::uint32_t union_size);

    void set_stalled() { stalled_ = true; }

  private:
    std::unique_ptr<ValueCoder> coder_;
    DeviceBuffer memory_;
    std::span<std::byte> payload_;
    std::span<std::uint32_t> index_;
    std::span<std::byte> header_;
    WordBuffer words_;
    WordBuffer request_words_;
    std::span<std::uint32_t> own_index_;
    std::span<float> results_;
    std::span<std::uint32_t> scratch_;

    ChunkTask task_;
    std::array<Message, max_messages> messages_;
    std::size_t message_count_ = 0;
    std::uint32_t union_size_ = 0;
    bool stalled_ = false;
};

std::unique_ptr<ChunkCodec> make_dense_codec(Device& device, std::unique_ptr<ValueCoder> coder,
                                             std::size_t payload_words);
std::unique_ptr<ChunkCodec> make_packed_codec(Device& device, std::unique_ptr<ValueCoder> coder,
                                              std::size_t payload_words);

// What stands for a word in the sketch.
enum class SketchKeys : std::uint8_t {
    ordinals,  // the word's ordinal among the chunk's words
    positions  // where the union's size is known beforehand, the element's position in the chunk:
               // words and elements are one to one, and the index travels along
};
std::unique_ptr<ChunkCodec> make_sketch_codec(Device& device, std::unique_ptr<ValueCoder> coder,
                                              SketchKeys keys);

}  // namespace sumwire::gpu
