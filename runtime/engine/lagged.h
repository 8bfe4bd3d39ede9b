// A value that chunks measure and later chunks use, the same on all ranks although ranks are not
// equally far: what chunk n measured is used from chunk n + lag on, which starts only when chunk n
// has ended, on every rank.
#pragma once

#include <cstdint>

namespace sumwire::runtime {

template <typename Value, std::uint64_t lag>
class Lagged {
  public:
    // What chunk number `now` is to use. Numbers never fall.
    const Value& at(std::uint64_t now) {
        if (measuring_ && measurer_ + lag <= now) {
            settled_ = next_;
            measuring_ = false;
        }
        return settled_;
    }

    // Whether chunk `now` is to measure it anew; if so it must call measured() before it ends.
    bool begin(std::uint64_t now) {
        if (measuring_) return false;
        measuring_ = true;
        measurer_ = now;
        return true;
    }
    void measured(const Value& value) { next_ = value; }
    const Value& measuring() const { return next_; }

  private:
    Value settled_{};
    Value next_{};
    std::uint64_t measurer_ = 0;
    bool measuring_ = false;
};

}  // namespace sumwire::runtime
