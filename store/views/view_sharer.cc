#include "store/views/view_sharer.h"

#include <algorithm>
#include <utility>

#include "store/redis/key_stem.h"
#include "store/resp/resp_writer.h"

namespace weir::store {

class ViewSharer::ViewSide final : public Side {
 public:
  ViewSide(ViewSharer& owner, const ViewToShare& what)
      : Side(owner),
        shared(what),
        stem_(key_stem("view", what.name, owner.secret_.hash("view").owned_by(what.identity))),
        sync_(*what.view, stem_, owner.secret_, owner.origin_, owner.fold_age_),
        owner_(owner) {
    script = &view_script();
    slot = slot_of(stem_);
  }

  TimePoint due() const noexcept override { return sync_.due(); }
  void ask(TimePoint now) override {
    const Sides& all = owner_.sides();
    const bool may_fold = std::none_of(all.begin(), all.end(), [](const auto& side) {
      return static_cast<const ViewSide&>(*side).sync_.is_folding();  // its memory is one fold's
    });
    const ViewSync::Question question = sync_.ask(words, now, Clock::wall(), may_fold);
    keys = question.keys;
    count = question.words;
  }
  void answered(const Reply& reply, TimePoint now) override { sync_.answered(reply, now); }
  void failed(TimePoint now, std::string why, bool may_have_happened) override {
    if (may_have_happened) {
      sync_.failed(now, std::move(why));
    } else {
      sync_.not_sent(now, std::move(why));
    }
  }
  void hurry(TimePoint now) override { sync_.hurry(now); }
  bool is_sent() const noexcept override { return sync_.idle() || !sync_.sharing().up; }

  const ViewToShare shared;

 private:
  const std::string stem_;
  ViewSync sync_;
  ViewSharer& owner_;
};

ViewSharer::ViewSharer(net::Worker& worker, const HashSecret& secret, Settings settings,
                       std::uint64_t origin, milliseconds fold_age)
    : ScriptSharer(worker, std::move(settings), origin),
      secret_(secret),
      origin_(origin),
      fold_age_(fold_age) {}

void ViewSharer::use(const std::vector<ViewToShare>& views) {
  Sides next;
  for (const ViewToShare& view : views) {
    std::unique_ptr<Side> same = leave(
        [&view](const Side& side) { return static_cast<const ViewSide&>(side).shared == view; });
    if (same == nullptr) same = std::make_unique<ViewSide>(*this, view);
    next.push_back(std::move(same));
  }
  share(std::move(next));
}

}  // namespace weir::store
