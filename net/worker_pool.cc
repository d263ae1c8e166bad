#include "net/worker_pool.h"

#include <pthread.h>

#include <chrono>
#include <string>
#include <thread>

#include "core/no_memory.h"

namespace weir::net {
namespace {

// After stop(), for what was cancelled to end. A look-up of a name ends when the name server likes.
constexpr std::chrono::milliseconds kLastWork{500};

}  // namespace

Worker::Worker(unsigned index)
    : index_(index),
      work_(boost::asio::make_work_guard(io_)),
      reactor_(io_),
      scratch_in_(std::make_unique_for_overwrite<Scratch>()),
      scratch_out_(std::make_unique_for_overwrite<Scratch>()) {}

void Worker::run() {
  reactor_.start();
  // Asio allocates in order to wait. Where it can't, the loop starts again when there is memory.
  while (!survives_no_memory([this] {
    reactor_.go_on_waiting();
    io_.run();
  })) {
    std::this_thread::yield();
  }
  io_.restart();
  while (!survives_no_memory([this] { io_.run_for(kLastWork); })) std::this_thread::yield();
}

void Worker::stop() {
  boost::asio::post(io_, [this] {
    reactor_.stop();
    work_.reset();
    io_.stop();
  });
}

WorkerPool::WorkerPool(unsigned count) {
  for (unsigned i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>(i));
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::start() {
  for (auto& worker : workers_) {
    threads_.emplace_back([w = worker.get()] { w->run(); });
    const std::string name = "weir/" + std::to_string(worker->index());
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
  }
}

void WorkerPool::stop() {
  if (threads_.empty()) return;
  for (auto& worker : workers_) worker->stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace weir::net
