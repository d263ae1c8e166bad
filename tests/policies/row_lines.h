#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/key.h"
#include "core/words.h"
#include "policies/judgement/row_sink.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// The rows of a judgement as text, a line each, to compare two ways of judging.
class RowLines final : public RowSink {
 public:
  std::string all;
  void reading(const Row& row) override { line(row, "reading"); }
  void verdict(const Row& row, const Rung& rung, std::size_t, std::optional<Number>) override {
    line(row, row_of(rung.action).name);
  }
  void remembered(const Row& row, const Rung&, std::size_t, std::optional<Number>) override {
    line(row, "remembered");
  }

 private:
  void line(const Row& row, std::string_view what) {
    all += row.policy->name + " " + row.event->name + " " + std::string(what) + " ";
    for (const Value& part : row.key->parts()) append_canonical(all, part);
    all += ' ';
    if (!append_canonical(all, row.value)) all += "null";
    all += '\n';
  }
};

}  // namespace weir::policies
