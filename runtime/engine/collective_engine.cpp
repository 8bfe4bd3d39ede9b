#include "runtime/engine/collective_engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sumwire/errors.h"

namespace sumwire::runtime {

namespace {

nic::Op wire_op(gpu::Combine combine) {
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

// SplitMix64's finaliser: spreads a counter over all bits.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111eb;
    return x ^ (x >> 31U);
}

}  // namespace

CollectiveEngine::CollectiveEngine(gpu::Device& device, nic::PacketPort& port,
                                   WorkerSession& session, std::uint32_t world_size)
    : codecs_(device, port, world_size),
      session_(session),
      chunks_(max_chunks),
      ready_(max_chunks) {}

CollectiveEngine::ActiveOperation& CollectiveEngine::operation(std::uint64_t number) {
    return operations_[number - operations_.front().number];
}

void CollectiveEngine::submit(Operation operation) {
    ActiveOperation active;
    active.number = next_operation_++;
    active.chunks = operation.kind == Operation::Kind::barrier
                        ? 1
                        : (operation.count + gpu::chunk_elements - 1) / gpu::chunk_elements;
    active.operation = std::move(operation);
    operations_.push_back(std::move(active));
}

bool CollectiveEngine::advance() {
    bool worked = take_completions();
    worked |= step_ready_chunk();
    worked |= start_chunk();
    worked |= post_messages();
    return worked;
}

bool CollectiveEngine::take_completions() {
    bool worked = false;
    while (const auto number = session_.take_completed()) {
        worked = true;
        Chunk& completed = chunk(*number);
        if (--completed.messages_left != 0) continue;
        completed.state = Chunk::State::ready;
        ready_[(ready_head_ + ready_count_++) % max_chunks] = *number;
    }
    return worked;
}

bool CollectiveEngine::step_ready_chunk() {
    if (ready_count_ == 0) return false;
    Chunk& ready = chunk(ready_[ready_head_]);
    ready_head_ = (ready_head_ + 1) % max_chunks;
    --ready_count_;

    const gpu::Progress progress =
        ready.codec ? ready.codec->codec->advance() : gpu::Progress::done;
    switch (progress) {
        case gpu::Progress::exchange:
            ++ready.round;
            ready.state = Chunk::State::posting;
            break;
        case gpu::Progress::done:
            finish_chunk(ready);
            break;
        case gpu::Progress::inconsistent:
            throw ProtocolError(fmt::format(
                "chunk {} of all_reduce {} contradicts itself: a rank runs other code or other "
                "options, or the network damages packets unnoticed (Options::checksums detects it)",
                ready.index, ready.operation));
    }
    return true;
}

bool CollectiveEngine::start_chunk() {
    if (starting_ == operations_.size() || started_ - oldest_ == max_chunks) return false;
    ActiveOperation& active = operations_[starting_];
    const Operation& op = active.operation;
    if (keeps_history(op) && active.next_chunk == 0) {
        if (history_.busy(op.count)) return false;
        history_.begin(op.count);
    }

    const std::size_t index = active.next_chunk++;
    Chunk& started = chunk(started_++);
    started.state = Chunk::State::posting;
    started.round = 0;
    started.operation = active.number;
    started.index = index;
    if (op.kind == Operation::Kind::all_reduce) {
        const std::size_t first = index * gpu::chunk_elements;
        gpu::ChunkTask task;
        task.values = op.values + first;
        task.count = static_cast<std::uint32_t>(
            std::min<std::size_t>(op.count - first, gpu::chunk_elements));
        task.reduction = op.reduction;
        task.seed = mix(mix(active.number) + index);
        task.expected_union =
            keeps_history(op) ? history_.chunk(op.count, index) : gpu::ChunkTask::unknown_union;
        started.codec = codecs_.take(op.codec, op.arithmetic);
        started.codec->codec->begin(task);
    }
    if (active.next_chunk == active.chunks) ++starting_;
    return true;
}

bool CollectiveEngine::post_messages() {
    bool worked = false;
    for (std::size_t lane = 0; lane < lane_next_.size(); ++lane) {
        for (std::uint64_t& next = lane_next_[lane]; next != started_; ++next) {
            Chunk& candidate = chunk(next);
            const bool passed = candidate.state == Chunk::State::done || candidate.round > lane;
            if (passed) continue;
            if (candidate.round != lane || candidate.state != Chunk::State::posting) break;
            post(next, candidate);
            worked = true;
        }
    }
    worked |= retire();
    return worked;
}

void CollectiveEngine::post(std::uint64_t number, Chunk& posting) {
    posting.state = Chunk::State::exchanging;
    if (!posting.codec) {
        posting.messages_left = 1;
        session_.post(posting.round, {.op = nic::Op::bit_or, .bytes = {}, .token = number});
        return;
    }
    const auto messages = posting.codec->codec->messages();
    posting.messages_left = static_cast<unsigned>(messages.size());
    for (const gpu::Message& message : messages) {
        session_.post(posting.round, {.op = wire_op(message.combine),
                                      .bytes = message.bytes,
                                      .region = posting.codec->region_of(message.bytes),
                                      .token = number});
    }
}

void CollectiveEngine::finish_chunk(Chunk& finished) {
    finished.state = Chunk::State::done;
    ActiveOperation& active = operation(finished.operation);
    if (finished.codec) {
        const gpu::ChunkCodec& codec = *finished.codec->codec;
        ++counters_.chunks;
        counters_.stalled_chunks += codec.stalled() ? 1 : 0;
        if (keeps_history(active.operation)) {
            history_.chunk(active.operation.count, finished.index) = codec.union_size();
        }
        codecs_.put_back(std::move(finished.codec));
    }
    if (++active.chunks_done == active.chunks) {
        if (keeps_history(active.operation)) history_.end(active.operation.count);
        active.operation.completion->finish(nullptr);
    }
}

bool CollectiveEngine::retire() {
    const std::uint64_t passed = *std::min_element(lane_next_.begin(), lane_next_.end());
    const std::uint64_t before = oldest_;
    while (oldest_ != passed && chunk(oldest_).state == Chunk::State::done)
        ++oldest_;
    while (!operations_.empty() && operations_.front().chunks_done == operations_.front().chunks) {
        operations_.pop_front();
        --starting_;
    }
    return oldest_ != before;
}

Time CollectiveEngine::next_deadline() const {
    Time earliest = never;
    for (const ActiveOperation& active : operations_) {
        earliest = std::min(earliest, active.operation.deadline);
    }
    return earliest;
}

std::string CollectiveEngine::describe_oldest() const {
    if (operations_.empty()) return "no operation";
    const ActiveOperation& oldest = operations_.front();
    if (oldest.operation.kind == Operation::Kind::barrier) {
        return fmt::format("barrier (collective {})", oldest.number);
    }
    return fmt::format("all_reduce of {} elements (collective {}, {} of {} chunks done)",
                       oldest.operation.count, oldest.number, oldest.chunks_done, oldest.chunks);
}

void CollectiveEngine::fail_all(const std::exception_ptr& failure) {
    while (!operations_.empty()) {
        ActiveOperation active = std::move(operations_.front());
        operations_.pop_front();
        if (active.chunks_done != active.chunks) active.operation.completion->finish(failure);
    }
}

}  // namespace sumwire::runtime
