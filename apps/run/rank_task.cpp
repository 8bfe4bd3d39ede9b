#include "apps/run/rank_task.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace sumwire::apps {
namespace {

using Clock = std::chrono::steady_clock;

void apply(const RankTask& task, Options& options) {
    options.codec = task.choice.codec;
    options.arithmetic = task.choice.arithmetic;
    options.polling = task.polling;
    options.payload_bytes = task.payload_bytes;
    if (task.deadline) {
        options.deadline = *task.deadline;
        options.join_timeout = *task.deadline;
    }
}

}  // namespace

void to_json(nlohmann::json& json, const RankTask& task) {
    json = {{"codec", static_cast<int>(task.choice.codec)},
            {"arithmetic", static_cast<int>(task.choice.arithmetic)},
            {"op", static_cast<int>(task.op)},
            {"iterations", task.iterations},
            {"polling", static_cast<int>(task.polling)},
            {"payload_bytes", task.payload_bytes}};
    if (task.deadline) json["deadline_ms"] = task.deadline->count();
}

void from_json(const nlohmann::json& json, RankTask& task) {
    task.choice.codec = static_cast<Codec>(json.at("codec").get<int>());
    task.choice.arithmetic = static_cast<Arithmetic>(json.at("arithmetic").get<int>());
    task.op = static_cast<ReduceOp>(json.at("op").get<int>());
    json.at("iterations").get_to(task.iterations);
    task.polling = static_cast<Polling>(json.at("polling").get<int>());
    json.at("payload_bytes").get_to(task.payload_bytes);
    if (json.contains("deadline_ms"))
        task.deadline = std::chrono::milliseconds(json.at("deadline_ms").get<std::int64_t>());
}

void to_json(nlohmann::json& json, const RankReport& report) {
    json = {{"seconds", report.seconds},
            {"wire_bytes_tx", report.wire_bytes_tx},
            {"wire_bytes_rx", report.wire_bytes_rx},
            {"retransmissions", report.retransmissions},
            {"stalled_chunks", report.stalled_chunks},
            {"repeatable", report.repeatable},
            {"description", report.description}};
}

void from_json(const nlohmann::json& json, RankReport& report) {
    json.at("seconds").get_to(report.seconds);
    json.at("wire_bytes_tx").get_to(report.wire_bytes_tx);
    json.at("wire_bytes_rx").get_to(report.wire_bytes_rx);
    json.at("retransmissions").get_to(report.retransmissions);
    json.at("stalled_chunks").get_to(report.stalled_chunks);
    json.at("repeatable").get_to(report.repeatable);
    json.at("description").get_to(report.description);
}

RankReport run_rank(const RankTask& task, Options options, std::span<const float> gradient,
                    std::span<float> result) {
    apply(task, options);
    auto communicator = Communicator::create(options);
    const Buffer buffer = communicator.allocate(std::max(gradient.size_bytes(), sizeof(float)));
    const std::size_t bytes = gradient.size_bytes();
    const auto copy = [bytes](void* to, const void* from) {
        if (bytes != 0) std::memcpy(to, from, bytes);
    };

    RankReport report;
    report.description = communicator.description();
    for (unsigned i = 0; i < task.iterations; ++i) {
        copy(buffer.data(), gradient.data());
        communicator.barrier();
        const Statistics before = communicator.statistics();
        const auto start = Clock::now();
        communicator.all_reduce(buffer.data(), gradient.size(), DataType::f32, task.op).wait();
        report.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
        const Statistics after = communicator.statistics();
        report.wire_bytes_tx +=
            static_cast<double>(after.wire_bytes_tx - before.wire_bytes_tx) / task.iterations;
        report.wire_bytes_rx +=
            static_cast<double>(after.wire_bytes_rx - before.wire_bytes_rx) / task.iterations;
        if (i == 0) {
            copy(result.data(), buffer.data());
        } else if (bytes != 0) {
            report.repeatable =
                report.repeatable && std::memcmp(result.data(), buffer.data(), bytes) == 0;
        }
    }
    // No rank leaves while another still lacks a packet.
    communicator.barrier();
    const Statistics total = communicator.statistics();
    report.retransmissions = total.retransmissions;
    report.stalled_chunks = total.stalled_chunks;
    return report;
}

}  // namespace sumwire::apps
