#include "runtime/communicator/thread_reaper.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace sumwire::runtime {

namespace {

struct Adopted {
    std::thread thread;
    std::shared_ptr<const std::atomic<bool>> ended;
    pid_t process = 0;
};

struct Reaper {
    std::mutex mutex;
    std::vector<Adopted> threads;
};

// Never destroyed: joinable threads may be left in it.
Reaper& reaper() {
    static auto* const state = new Reaper;
    return *state;
}

void join_ended(std::vector<Adopted>& threads) {
    std::erase_if(threads, [](Adopted& adopted) {
        if (!adopted.ended->load(std::memory_order_acquire)) return false;
        adopted.thread.join();
        return true;
    });
}

void join_all() {
    std::vector<Adopted> threads;
    {
        const std::lock_guard lock(reaper().mutex);
        threads.swap(reaper().threads);
    }
    for (Adopted& adopted : threads) {
        const bool mine = adopted.process == getpid();
        if (mine && adopted.thread.get_id() != std::this_thread::get_id()) {
            adopted.thread.join();
        } else {
            adopted.thread.detach();
        }
    }
}

}  // namespace

void adopt_thread(std::thread thread, std::shared_ptr<const std::atomic<bool>> ended) {
    // Once for each thread, so that it is joined before anything is destroyed that was constructed
    // before this moment: whatever the thread uses.
    std::atexit(join_all);
    const std::lock_guard lock(reaper().mutex);
    join_ended(reaper().threads);
    reaper().threads.push_back({std::move(thread), std::move(ended), getpid()});
}

}  // namespace sumwire::runtime
