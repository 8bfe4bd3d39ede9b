#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/bench/codec_measure.h"
#include "apps/bench/commands.h"
#include "apps/bench/gradient_set.h"
#include "apps/bench/table.h"
#include "apps/bench/typed_gradients.h"
#include "apps/support/json_file.h"
#include "apps/support/npy.h"
#include "apps/support/progress.h"
#include "apps/support/sum_choice.h"
#include "nic/time.h"

namespace sumwire::apps {
namespace {

struct Settings {
    std::vector<std::filesystem::path> gradients{"tests/data/gradients/ncf"};
    SyntheticSpec synthetic{.elements = 0, .density = 0.05};
    std::string shape = "uniform";
    unsigned workers = 4;
    std::vector<std::string> codecs{"all"};
    std::vector<std::string> arithmetics{"all"};
    std::vector<std::string> types{"f32"};
    double link_gbit_s = 10;
    double round_trip_us = 50;
    unsigned repetitions = 5;
    std::string json;
    bool progress = false;
};

const Table& codec_table() {
    static const Table table({{"set", 16, true},
                              {"type", 0, true},
                              {"codec", 6, true},
                              {"arithmetic", 0, true},
                              {"encode(GB/s)"},
                              {"decode(GB/s)"},
                              {"memcpy(GB/s)"},
                              {"wire(B)", 10},
                              {"of dense"},
                              {"of bound"},
                              {"bound(B)", 10},
                              {"stalls"},
                              {"exact"}});
    return table;
}

// Of what makes no difference.
constexpr std::string_view any = "any";

struct Names {
    std::string_view codec;
    std::string_view arithmetic;
};

Names names_of(const SumChoice& choice, DataType type) {
    return {knows_codec(type) ? name_of(choice.codec) : any,
            knows_arithmetic(type) ? name_of(choice.arithmetic) : any};
}

// The choices that differ for the type.
std::vector<SumChoice> distinct(const std::vector<SumChoice>& choices, DataType type) {
    std::vector<SumChoice> kept;
    for (SumChoice choice : choices) {
        if (!knows_codec(type)) choice.codec = Codec::dense;
        if (!knows_arithmetic(type)) choice.arithmetic = Arithmetic::exact;
        if (type == DataType::i32 && choice.codec == Codec::sketch) continue;
        if (std::ranges::find(kept, choice) == kept.end()) kept.push_back(choice);
    }
    return kept;
}

class CodecReport {
  public:
    CodecReport(const GradientSet& set, const TypedGradients& gradients, DataType type)
        : set_(set),
          gradients_(gradients),
          type_(type),
          present_(union_elements(gradients)),
          bound_(bound_bytes(gradients.elements(), present_, gpu::size_of(gradients.type))) {}

    void add(const SumChoice& choice, const CodecMeasurement& result, JsonFile& json) const {
        const auto bytes = static_cast<double>(gradients_.bytes());
        const auto wire = static_cast<double>(result.wire_bytes);
        const auto rate = [bytes](double seconds) { return bytes * 1e-9 / seconds; };
        const Names names = names_of(choice, type_);
        codec_table().print_row(
            {set_.name(), std::string(name_of(type_)), std::string(names.codec),
             std::string(names.arithmetic), fmt::format("{:.2f}", rate(result.encode_seconds)),
             fmt::format("{:.2f}", rate(result.decode_seconds)),
             fmt::format("{:.2f}", rate(result.memcpy_seconds)),
             fmt::format("{}", result.wire_bytes), fmt::format("{:.3f}", wire / bytes),
             bound_ > 0 ? fmt::format("{:.3f}", wire / bound_) : "-", fmt::format("{:.0f}", bound_),
             fmt::format("{}", result.stalls), result.exact ? "yes" : "NO"});
        json.add({{"set", set_.name()},
                  {"type", name_of(type_)},
                  {"codec", names.codec},
                  {"arithmetic", names.arithmetic},
                  {"elements", gradients_.elements()},
                  {"workers", gradients_.ranks.size()},
                  {"union_density",
                   static_cast<double>(present_) / static_cast<double>(gradients_.elements())},
                  {"dense_bytes", gradients_.bytes()},
                  {"wire_bytes", result.wire_bytes},
                  {"first_wire_bytes", result.first_wire_bytes},
                  {"bound_bytes", bound_},
                  {"encode_gb_s", rate(result.encode_seconds)},
                  {"decode_gb_s", rate(result.decode_seconds)},
                  {"memcpy_gb_s", rate(result.memcpy_seconds)},
                  {"stalls", result.stalls},
                  {"exact", result.exact}});
    }

  private:
    const GradientSet& set_;
    const TypedGradients& gradients_;
    DataType type_;
    std::size_t present_;
    double bound_;
};

struct Plan {
    std::vector<DataType> types;
    std::vector<SumChoice> choices;
    runtime::LinkCosts link;
    unsigned repetitions = 5;
};

bool run_set(const GradientSet& set, const Plan& plan, Progress& progress, JsonFile& json) {
    bool exact = true;
    for (const DataType type : plan.types) {
        progress.show(fmt::format("{}: converting to {}", set.name(), name_of(type)));
        const TypedGradients gradients = convert(set.ranks, type);
        const CodecReport report(set, gradients, type);
        TypedReference reference(gradients);
        for (const SumChoice& choice : distinct(plan.choices, type)) {
            const Names names = names_of(choice, type);
            progress.show(fmt::format("{}: {} {} {}", set.name(), name_of(type), names.codec,
                                      names.arithmetic));
            const auto result = measure_codec(
                gradients, {.choice = choice, .link = plan.link, .repetitions = plan.repetitions},
                [&](auto sums) { return reference.is_right(choice.arithmetic, sums); });
            progress.clear();
            report.add(choice, result, json);
            exact &= result.exact;
        }
    }
    return exact;
}

std::vector<DataType> choose_types(const std::vector<std::string>& names) {
    std::vector<DataType> types;
    for (const auto& name : names) {
        if (name == "all")
            return {DataType::f32, DataType::bf16, DataType::f16,
                    DataType::f64, DataType::i32,  DataType::i64};
        types.push_back(parse_data_type(name));
    }
    return types;
}

bool run(const Settings& settings) {
    const Plan plan{.types = choose_types(settings.types),
                    .choices = choose_sums(settings.codecs, settings.arithmetics),
                    .link = {std::chrono::duration_cast<Time>(
                                 std::chrono::duration<double, std::micro>(settings.round_trip_us)),
                             settings.link_gbit_s * 1e9 / 8},
                    .repetitions = settings.repetitions};
    auto synthetic = settings.synthetic;
    synthetic.shape = parse_shape(settings.shape);
    const auto sources = synthetic.elements == 0
                             ? find_gradient_sources(settings.gradients, std::nullopt)
                             : std::vector<GradientSource>{[&synthetic, &settings] {
                                   return make_synthetic_set(synthetic, settings.workers);
                               }};
    JsonFile json(settings.json);
    Progress progress(settings.progress);
    print_banner(
        {"Codecs: rank 0's encode and decode on one core, all ranks combined in memory, NO "
         "NETWORK",
         fmt::format("Steady state: every chunk's union is known from the step before. GB/s of "
                     "dense gradient, medians of {}",
                     settings.repetitions),
         "wire: payload of one rank, one direction, without headers; bound: entropy of the "
         "union's positions, and each of its elements as it is",
         fmt::format("auto: what the policy picks for {} Gbit/s and a round trip of {} us",
                     settings.link_gbit_s, settings.round_trip_us)});
    codec_table().print_head();
    bool exact = true;
    for (const auto& source : sources) {
        progress.show("loading gradients");
        const GradientSet set = source();
        if (set.elements() == 0)
            throw InputError(fmt::format("'{}' has no elements; leave it out", set.name()));
        exact &= run_set(set, plan, progress, json);
    }
    json.save();
    return exact;
}

}  // namespace

void add_codec_command(CLI::App& app, int& exit_code) {
    auto settings = std::make_shared<Settings>();
    auto* command =
        app.add_subcommand("codec", "Codecs: encode and decode rates and bytes, without a network");
    auto* gradients = command
                          ->add_option("--gradients", settings->gradients,
                                       "Directory of stepNNN-workerM.npy[.zst]; several allowed")
                          ->check(CLI::ExistingDirectory)
                          ->capture_default_str();
    auto* elements = command
                         ->add_option("--elements", settings->synthetic.elements,
                                      "Synthetic gradients of this length instead")
                         ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30U))
                         ->excludes(gradients);
    command
        ->add_option("--density", settings->synthetic.density,
                     "Share of non-zeros of one synthetic worker")
        ->check(CLI::Range(1e-6, 1.0))
        ->needs(elements)
        ->capture_default_str();
    command->add_option("--shape", settings->shape, "Where they lie: uniform, runs or rows")
        ->check(CLI::IsMember({"uniform", "runs", "rows"}))
        ->needs(elements)
        ->capture_default_str();
    command->add_option("--workers", settings->workers, "Synthetic workers")
        ->check(CLI::Range(1, 1024))
        ->needs(elements)
        ->capture_default_str();
    command->add_option("--codec", settings->codecs, "auto, dense, packed, sketch or all")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--arithmetic", settings->arithmetics, "exact, f32, fixed32 or all")
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--type", settings->types,
                     "What the gradients are converted to: f32, bf16, f16, f64, i32, i64 or all")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--link", settings->link_gbit_s, "Gbit/s that auto assumes")
        ->check(CLI::Range(0.001, 10000.0))
        ->capture_default_str();
    command
        ->add_option("--round-trip", settings->round_trip_us, "Round trip in us that auto assumes")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
    command->add_option("--repetitions", settings->repetitions, "Timed passes")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_option("--json", settings->json, "Write the rows to this file");
    command->add_flag("--progress", settings->progress,
                      "Progress on standard error, terminal or not");
    command->callback([settings, &exit_code] { exit_code = run(*settings) ? 0 : 1; });
}

}  // namespace sumwire::apps
