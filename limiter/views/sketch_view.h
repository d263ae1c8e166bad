#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "limiter/views/bloom.h"
#include "limiter/views/hyperloglog.h"
#include "limiter/views/index.h"
#include "limiter/views/ranking.h"
#include "limiter/views/spans.h"
#include "limiter/views/view.h"

namespace weir::limiter {

/// Approximate distinct. A sketch forgets nothing, so that windows share none: each open one has
/// its own, and an event is put into every window that it is in (the configuration bounds how
/// many). bloom: one filter per window for all (key, member) pairs, and a count of the new ones per
/// key. hll: one sketch per window and key.
class SketchView final : public View {
 public:
  explicit SketchView(const ViewSpec& spec);
  Seen observe(const ViewEvent& event) override;
  Seen absorb(const ViewPane& pane) override;
  Seen absorb(const ViewEvent& member, const ViewPart& part) override;
  void advance(TimePoint watermark, const ViewSink& sink) override;
  void flush(const ViewSink& sink) override;
  void running(const ViewSink& sink) override;
  void tell_all(ViewDelta& out) const override;
  ViewStats stats() const noexcept override;
  void limit(std::size_t bytes) noexcept override { budget_.limit = bytes; }

 private:
  struct Counted {
    std::int64_t fresh = 0;               // bloom
    std::unique_ptr<HyperLogLog> sketch;  // hll
  };
  struct Window {
    Span span;
    std::size_t bytes = 0;
    Groups groups;
    std::vector<Counted> counted;  // by group
    std::unique_ptr<Bloom> filter;
    Counted whole;  // grouped: of all members, whatever their key
  };

  Seen put_into_windows(const ViewEvent& event);
  Window* window_at(const Span& span);
  Seen put(Window& window, const ViewEvent& event);
  bool count(Window& window, Counted& counted, const Hash128& owner, const Hash128& member);
  Number value(const Counted& counted) const;
  void show(const Window& window, bool complete, const ViewSink& sink);
  void drop_front();

  ViewSpec spec_;
  unsigned precision_;
  Spans spans_;
  Ranking ranking_;
  Budget budget_;
  ViewStats stats_;
  std::deque<Window> windows_;  // open, with an event, ascending
  std::int64_t closed_;
};

}  // namespace weir::limiter
