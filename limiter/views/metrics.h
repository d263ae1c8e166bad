#pragma once

#include <cstdint>
#include <vector>

#include "limiter/memory/make_room.h"
#include "limiter/views/sums.h"
#include "limiter/views/view.h"
#include "limiter/views/view_part.h"

/// The metrics of views, except distinct. For each metric, a Part is the share of one group in a
/// pane, and a Cell its state in the running window. A window slides by adding the parts of the
/// panes that it reaches and subtracting those of the panes that it leaves.
namespace weir::limiter {

/// count: the number of events.
struct CountMetric {
  struct Part {
    std::int64_t events = 0;
    void add(const ViewEvent&) noexcept { ++events; }
    void add(const ViewPart& part) noexcept { events += part.events; }
    ViewPart exchanged() const noexcept {
      ViewPart out;
      out.events = events;
      return out;
    }
  };
  struct Cell {
    std::int64_t events = 0;
    void make_room() noexcept {}
    void add(std::int64_t, const ViewEvent&) noexcept { ++events; }
    void add(std::int64_t, const ViewPart& part) noexcept { events += part.events; }
    void enter(std::int64_t, const Part& part) noexcept { events += part.events; }
    void leave(std::int64_t, const Part& part) noexcept { events -= part.events; }
    bool present() const noexcept { return events != 0; }
    Number value() const noexcept { return events; }
  };
};

/// sum and avg.
template <bool Average>
struct AmountMetric {
  struct Part {
    Sum sum;
    std::int64_t events = 0;
    void add(const ViewEvent& event) noexcept {
      sum.add(event.amount);
      ++events;
    }
    void add(const ViewPart& part) noexcept {
      sum.add(part.sum);
      events += part.events;
    }
    ViewPart exchanged() const noexcept {
      ViewPart out;
      out.events = events;
      out.sum = sum;
      return out;
    }
  };
  struct Cell {
    Part all;
    void make_room() noexcept {}
    void add(std::int64_t, const ViewEvent& event) noexcept { all.add(event); }
    void add(std::int64_t, const ViewPart& part) noexcept { all.add(part); }
    void enter(std::int64_t, const Part& part) noexcept {
      all.sum.add(part.sum);
      all.events += part.events;
    }
    void leave(std::int64_t, const Part& part) noexcept {
      all.sum.subtract(part.sum);
      all.events -= part.events;
    }
    bool present() const noexcept { return all.events != 0; }
    Number value() const noexcept {
      if constexpr (!Average) return all.sum.value();
      return Number::real(all.sum.as_real() / static_cast<double>(all.events));
    }
  };
};

/// min and max: a monotonic queue of (pane, best of it), so that neither a new event nor a slide
/// looks at more than the entries that it removes.
template <bool Maximum>
struct ExtremeMetric {
  static bool beats(Number a, Number b) noexcept { return Maximum ? a > b : a < b; }
  struct Part {
    Number best;
    bool any = false;
    void add(const ViewEvent& event) noexcept { take(event.amount); }
    void add(const ViewPart& part) noexcept {
      if (part.any) take(part.best);
    }
    ViewPart exchanged() const noexcept {
      ViewPart out;
      out.best = best;
      out.any = any;
      return out;
    }
    void take(Number amount) noexcept {
      if (!any || beats(amount, best)) best = amount;
      any = true;
    }
  };
  struct Cell {
    struct Entry {
      std::int64_t pane;
      Number best;
    };
    std::vector<Entry> queue;  // panes ascending, each better than all after it

    /// For the next add() or enter().
    void make_room() { limiter::make_room(queue); }
    void add(std::int64_t pane, const ViewEvent& event) { insert(pane, event.amount); }
    void add(std::int64_t pane, const ViewPart& part) {
      if (part.any) insert(pane, part.best);
    }
    void enter(std::int64_t pane, const Part& part) { insert(pane, part.best); }
    void leave(std::int64_t pane, const Part&) noexcept {
      auto last = queue.begin();
      while (last != queue.end() && last->pane <= pane) ++last;
      queue.erase(queue.begin(), last);
    }
    bool present() const noexcept { return !queue.empty(); }
    Number value() const noexcept { return queue.front().best; }

   private:
    void insert(std::int64_t pane, Number amount) {
      auto at = queue.end();  // the first that is not older
      while (at != queue.begin() && std::prev(at)->pane >= pane) --at;
      if (at != queue.end() && !beats(amount, at->best)) return;
      if (at != queue.end() && at->pane == pane) ++at;  // the same pane's own: beaten
      auto from = at;
      while (from != queue.begin() && !beats(std::prev(from)->best, amount)) --from;
      from = queue.erase(from, at);
      queue.insert(from, {pane, amount});
    }
  };
};

}  // namespace weir::limiter
