#include "runtime/engine/collective_engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/engine/wire_op.h"
#include "sumwire/errors.h"

namespace sumwire::runtime {

namespace {

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
    active.chunks = 1;
    if (operation.call.kind == CollectiveCall::Kind::all_reduce)
        active.chunks += (operation.call.count + gpu::chunk_elements - 1) / gpu::chunk_elements;
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

// The first whose operation's agreement is there: nothing may change before.
std::optional<std::uint64_t> CollectiveEngine::take_ready() {
    for (std::size_t waiting = ready_count_; waiting != 0; --waiting) {
        const std::uint64_t number = ready_[ready_head_];
        ready_head_ = (ready_head_ + 1) % max_chunks;
        const Chunk& candidate = chunk(number);
        if (!candidate.codec || operation(candidate.operation).agreed) {
            --ready_count_;
            return number;
        }
        ready_[(ready_head_ + ready_count_ - 1) % max_chunks] = number;
    }
    return std::nullopt;
}

bool CollectiveEngine::step_ready_chunk() {
    const std::optional<std::uint64_t> number = take_ready();
    if (!number) return false;
    Chunk& ready = chunk(*number);
    if (!ready.codec) check_agreement(ready);
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
                ready.index - 1, ready.operation));
    }
    return true;
}

bool CollectiveEngine::start_chunk() {
    if (starting_ == operations_.size() || started_ - oldest_ == max_chunks) return false;
    ActiveOperation& active = operations_[starting_];
    Chunk& started = chunk(started_);
    started.state = Chunk::State::posting;
    started.round = 0;
    started.operation = active.number;
    started.index = active.next_chunk++;
    if (started.index == 0) {
        start_agreement(active, started);
    } else {
        start_data(active, started);
    }
    ++started_;
    if (active.next_chunk == active.chunks) ++starting_;
    return true;
}

void CollectiveEngine::start_agreement(ActiveOperation& active, Chunk& started) {
    const CollectiveCall& call = active.operation.call;
    costs_.at(started_);
    started.measures = costs_.begin(started_);
    started.agreement = write_agreement(call, own_costs_);
    if (active.chunks > 1 && call.has_codec())
        active.history = &history_.tensor(call.count, call.tag, active.chunks - 1, active.number);
}

void CollectiveEngine::start_data(ActiveOperation& active, Chunk& started) {
    const CollectiveCall& call = active.operation.call;
    const std::size_t first = (started.index - 1) * gpu::chunk_elements;
    gpu::ChunkTask task;
    task.values =
        static_cast<std::byte*>(active.operation.values) + first * gpu::size_of(call.type);
    task.count =
        static_cast<std::uint32_t>(std::min<std::size_t>(call.count - first, gpu::chunk_elements));
    task.reduction = call.reduction;
    task.seed = mix(mix(active.number) + started.index);
    task.expected_union = gpu::ChunkTask::unknown_union;

    gpu::CodecConfig config{
        .codec = gpu::Codec::dense, .arithmetic = call.arithmetic, .type = call.type};
    config.extrema = gpu::is_extremum(call.reduction);
    started.measures = false;
    if (active.history != nullptr) {
        auto& history = (*active.history)[started.index - 1];
        const ChunkFacts facts = history.at(started_);
        task.expected_union = facts.union_size;
        config.codec = codec_of(active, task.count, facts);
        started.measures = history.begin(started_);
        if (started.measures) {
            ChunkFacts next = facts;
            next.uses = config.codec == facts.codec ? next.uses + 1 : 0;
            next.codec = config.codec;
            history.measured(next);
        }
    }
    ++counters_.chunks_by_codec[static_cast<std::size_t>(config.codec)];
    started.codec = codecs_.take(config);
    started.codec->codec->begin(task);
}

gpu::Codec CollectiveEngine::codec_of(const ActiveOperation& active, std::uint32_t count,
                                      const ChunkFacts& facts) {
    const CollectiveCall& call = active.operation.call;
    if (call.codec) return *call.codec;
    const PolicyInput input{.count = count,
                            .operation_chunks = active.chunks - 1,
                            .type = call.type,
                            .arithmetic = call.arithmetic,
                            .link = costs_.at(started_)};
    return choose_codec(input, facts);
}

void CollectiveEngine::check_agreement(const Chunk& agreed) {
    ActiveOperation& active = operation(agreed.operation);
    const CollectiveCall& call = active.operation.call;
    const std::string difference = difference_of(agreed.agreement);
    if (!difference.empty()) {
        throw ProtocolError(fmt::format(
            "ranks call different collectives: this one calls {}, collective {} of the job, and "
            "another differs in {}; every rank must call the same collectives in the same order",
            describe(call), agreed.operation, difference));
    }
    active.agreed = true;
    if (agreed.measures) costs_.measured(costs_of(agreed.agreement));
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
        session_.post(posting.round,
                      {.op = nic::Op::max_u8, .bytes = posting.agreement, .token = number});
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
        if (finished.measures) note_union(active, finished);
        codecs_.put_back(std::move(finished.codec));
    }
    if (++active.chunks_done == active.chunks) {
        active.operation.completion->finish(nullptr);
    }
}

void CollectiveEngine::note_union(ActiveOperation& active, const Chunk& finished) {
    auto& history = (*active.history)[finished.index - 1];
    ChunkFacts facts = history.measuring();
    // A dense chunk tells nothing of its zeros.
    if (facts.codec == gpu::Codec::dense) return;
    facts.union_size = finished.codec->codec->union_size();
    history.measured(facts);
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
    return fmt::format("collective {}, {}, {} of {} steps done", oldest.number,
                       describe(oldest.operation.call), oldest.chunks_done, oldest.chunks);
}

void CollectiveEngine::fail_all(const std::exception_ptr& failure) {
    while (!operations_.empty()) {
        ActiveOperation active = std::move(operations_.front());
        operations_.pop_front();
        if (active.chunks_done != active.chunks) active.operation.completion->finish(failure);
    }
}

}  // namespace sumwire::runtime
