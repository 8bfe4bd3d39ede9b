#include "apps/bench/codec_choice.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace sumwire::apps {
namespace {

constexpr std::array codec_order{gpu::Codec::dense, gpu::Codec::packed, gpu::Codec::sketch};
constexpr std::array arithmetic_order{gpu::Arithmetic::exact, gpu::Arithmetic::f32,
                                      gpu::Arithmetic::fixed32};

void check_names(const std::vector<std::string>& names, const std::vector<std::string_view>& known,
                 std::string_view option) {
    for (const auto& name : names)
        if (std::ranges::find(known, name) == known.end())
            throw std::invalid_argument(
                fmt::format("{} {}: unknown; use {}", option, name, fmt::join(known, ", ")));
}

bool has(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

bool wanted(const std::vector<std::string>& arithmetics, const CodecChoice& choice) {
    const auto usual =
        choice.codec == gpu::Codec::sketch ? gpu::Arithmetic::fixed32 : gpu::Arithmetic::exact;
    return has(arithmetics, "all") || has(arithmetics, name_of(choice.arithmetic)) ||
           (has(arithmetics, "default") && choice.arithmetic == usual);
}

}  // namespace

std::string_view name_of(gpu::Codec codec) {
    switch (codec) {
        case gpu::Codec::dense:
            return "dense";
        case gpu::Codec::packed:
            return "packed";
        case gpu::Codec::sketch:
            return "sketch";
    }
    return "";
}

std::string_view name_of(gpu::Arithmetic arithmetic) {
    switch (arithmetic) {
        case gpu::Arithmetic::exact:
            return "exact";
        case gpu::Arithmetic::f32:
            return "f32";
        case gpu::Arithmetic::fixed32:
            return "fixed32";
    }
    return "";
}

std::vector<CodecChoice> choose_codecs(const std::vector<std::string>& codecs,
                                       const std::vector<std::string>& arithmetics) {
    check_names(codecs, {"dense", "packed", "sketch", "all"}, "--codec");
    check_names(arithmetics, {"exact", "f32", "fixed32", "all", "default"}, "--arithmetic");
    if (has(codecs, "sketch") && has(arithmetics, "f32"))
        throw std::invalid_argument(
            "--codec sketch --arithmetic f32: a sketch of floats would lose bits; use exact or "
            "fixed32 with sketch, or dense or packed with f32");
    std::vector<CodecChoice> choices;
    for (const auto codec : codec_order) {
        if (!has(codecs, "all") && !has(codecs, name_of(codec))) continue;
        for (const auto arithmetic : arithmetic_order) {
            const CodecChoice choice{codec, arithmetic};
            const bool possible = codec != gpu::Codec::sketch || arithmetic != gpu::Arithmetic::f32;
            if (possible && wanted(arithmetics, choice)) choices.push_back(choice);
        }
    }
    return choices;
}

Codec public_codec(gpu::Codec codec) {
    switch (codec) {
        case gpu::Codec::dense:
            return Codec::dense;
        case gpu::Codec::packed:
            return Codec::packed;
        case gpu::Codec::sketch:
            return Codec::sketch;
    }
    return {};
}

Arithmetic public_arithmetic(gpu::Arithmetic arithmetic) {
    switch (arithmetic) {
        case gpu::Arithmetic::exact:
            return Arithmetic::exact;
        case gpu::Arithmetic::f32:
            return Arithmetic::f32;
        case gpu::Arithmetic::fixed32:
            return Arithmetic::fixed32;
    }
    return {};
}

}  // namespace sumwire::apps
