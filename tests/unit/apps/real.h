// Real arithmetic without error, by MPFR.
#pragma once

#include <mpfr.h>

#include <cfloat>

namespace sumwire::apps {

class Real {
  public:
    // Wide enough for any sum of floats.
    Real() {
        mpfr_init2(value_, 640);
        mpfr_set_zero(value_, 1);
    }
    ~Real() { mpfr_clear(value_); }
    Real(const Real&) = delete;
    Real& operator=(const Real&) = delete;

    void add(float value, long times = 1) {
        Real term;
        mpfr_set_flt(term.value_, value, MPFR_RNDN);
        mpfr_mul_si(term.value_, term.value_, times, MPFR_RNDN);
        mpfr_add(value_, value_, term.value_, MPFR_RNDN);
    }

    // Rounded once, also where floats are subnormal.
    float quotient(unsigned long divisor) const {
        const mpfr_exp_t low = mpfr_get_emin();
        const mpfr_exp_t high = mpfr_get_emax();
        mpfr_set_emin(FLT_MIN_EXP - FLT_MANT_DIG + 1);
        mpfr_set_emax(FLT_MAX_EXP);
        mpfr_t result;
        mpfr_init2(result, FLT_MANT_DIG);
        const int inexact = mpfr_div_ui(result, value_, divisor, MPFR_RNDN);
        mpfr_subnormalize(result, inexact, MPFR_RNDN);
        const float rounded = mpfr_get_flt(result, MPFR_RNDN);
        mpfr_clear(result);
        mpfr_set_emin(low);
        mpfr_set_emax(high);
        return rounded;
    }

    double approximately() const { return mpfr_get_d(value_, MPFR_RNDN); }

  private:
    mpfr_t value_;
};

}  // namespace sumwire::apps
