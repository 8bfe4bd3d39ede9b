#include "runtime/progress_thread.h"

namespace sumwire::runtime {

namespace {
thread_local bool marked = false;
}

void mark_progress_thread() {
    marked = true;
}

bool on_progress_thread() {
    return marked;
}

}  // namespace sumwire::runtime
