#include "apps/support/rank_task.h"

#include <limits>

namespace sumwire::apps {
namespace {

// JSON has no number for NaN and infinity; they travel as null, and come back as NaN.
float float_of(const nlohmann::json& json) {
    return json.is_null() ? std::numeric_limits<float>::quiet_NaN() : json.get<float>();
}

}  // namespace

void to_json(nlohmann::json& json, const RankTask& task) {
    auto choices = nlohmann::json::array();
    for (const auto& choice : task.choices)
        choices.push_back({static_cast<int>(choice.codec), static_cast<int>(choice.arithmetic)});
    json = {{"choices", choices},
            {"op", static_cast<int>(task.op)},
            {"warmup", task.warmup},
            {"iterations", task.iterations},
            {"polling", task.polling},
            {"payload_bytes", task.payload_bytes},
            {"output_directory", task.output_directory.string()}};
    if (task.deadline) json["deadline_ms"] = task.deadline->count();
}

void from_json(const nlohmann::json& json, RankTask& task) {
    task.choices.clear();
    for (const auto& choice : json.at("choices"))
        task.choices.push_back({static_cast<Codec>(choice.at(0).get<int>()),
                                static_cast<Arithmetic>(choice.at(1).get<int>())});
    task.op = static_cast<ReduceOp>(json.at("op").get<int>());
    json.at("warmup").get_to(task.warmup);
    json.at("iterations").get_to(task.iterations);
    json.at("polling").get_to(task.polling);
    json.at("payload_bytes").get_to(task.payload_bytes);
    task.output_directory = json.at("output_directory").get<std::string>();
    task.deadline.reset();
    if (json.contains("deadline_ms"))
        task.deadline = std::chrono::milliseconds(json.at("deadline_ms").get<std::int64_t>());
}

void to_json(nlohmann::json& json, const RankReport& report) {
    json = {{"seconds", report.seconds},
            {"first_seconds", report.first_seconds},
            {"wire_bytes_tx", report.wire_bytes_tx},
            {"wire_bytes_rx", report.wire_bytes_rx},
            {"first_wire_bytes_tx", report.first_wire_bytes_tx},
            {"retransmissions", report.retransmissions},
            {"stalled_chunks", report.stalled_chunks},
            {"dense_chunks", report.dense_chunks},
            {"packed_chunks", report.packed_chunks},
            {"sketch_chunks", report.sketch_chunks},
            {"wrong", report.verdict.wrong},
            {"first_wrong", report.verdict.first},
            {"expected", report.verdict.expected},
            {"found", report.verdict.found},
            {"digest", report.digest},
            {"repeatable", report.repeatable},
            {"description", report.description}};
}

void from_json(const nlohmann::json& json, RankReport& report) {
    json.at("seconds").get_to(report.seconds);
    json.at("first_seconds").get_to(report.first_seconds);
    json.at("wire_bytes_tx").get_to(report.wire_bytes_tx);
    json.at("wire_bytes_rx").get_to(report.wire_bytes_rx);
    json.at("first_wire_bytes_tx").get_to(report.first_wire_bytes_tx);
    json.at("retransmissions").get_to(report.retransmissions);
    json.at("stalled_chunks").get_to(report.stalled_chunks);
    json.at("dense_chunks").get_to(report.dense_chunks);
    json.at("packed_chunks").get_to(report.packed_chunks);
    json.at("sketch_chunks").get_to(report.sketch_chunks);
    json.at("wrong").get_to(report.verdict.wrong);
    json.at("first_wrong").get_to(report.verdict.first);
    report.verdict.expected = float_of(json.at("expected"));
    report.verdict.found = float_of(json.at("found"));
    json.at("digest").get_to(report.digest);
    json.at("repeatable").get_to(report.repeatable);
    json.at("description").get_to(report.description);
}

}  // namespace sumwire::apps
