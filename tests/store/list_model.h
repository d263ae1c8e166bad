#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/memory/frame.h"
#include "store/resp/resp_reader.h"

namespace weir::store::test {

/// list.lua, said again in a naive way: one list of the store in process. Time is an argument.
class ListModel {
 public:
  struct Record {
    double removed = 0, listed = 0, until = 0, needed = 0;
    std::string maker, entry;
    friend bool operator==(const Record&, const Record&) = default;
  };
  struct Data {
    std::string epoch;
    double last = 0;
    std::map<std::string, Record> records;
    std::map<double, std::string> order;
  };

  /// `words`: the arguments, as bulk strings.
  Reply call(std::string_view words, double now_us) {
    const std::vector<std::string> arguments = bulks(words);
    limiter::Reader in(arguments.at(0));
    const std::string epoch(bytes(in, 16));
    double known = in.get<double>();
    const std::string caller(bytes(in, 8)), fresh(bytes(in, 16));
    const auto most = static_cast<std::size_t>(in.get<double>());
    const auto keys_most = static_cast<std::size_t>(in.get<double>());
    now_ = std::floor(now_us / 1000);
    stamp_ = now_us;
    if (epoch != data.epoch) known = 0;
    std::vector<std::pair<double, std::string>> changes;
    bool more = false;
    for (auto it = data.order.upper_bound(known); it != data.order.end() && !more; ++it) {
      changes.emplace_back(*it);
      more = changes.size() == most;
    }
    std::vector<std::pair<int, std::string>> results;
    std::vector<std::string> said;
    for (const auto& [sequence, key] : changes) said.push_back(bytes(data.records.at(key)));
    for (std::size_t i = 1; i < arguments.size(); ++i)
      results.push_back(apply(arguments[i], caller, fresh, keys_most));

    Reply out;
    out.add(Reply::Type::array);
    add(out, now_);
    out.add_text(Reply::Type::string, data.epoch);
    add(out, more ? changes.back().first : data.last);
    add(out, more ? 1 : 0);
    add(out, static_cast<double>(changes.size()));
    for (std::size_t i = 0; i < changes.size(); ++i) {
      add(out, changes[i].first);
      out.add_text(Reply::Type::string, changes[i].second);
      out.add_text(Reply::Type::string, said[i]);
    }
    for (const auto& [flags, record] : results) {
      add(out, flags);
      out.add_text(Reply::Type::string, record);
    }
    return out;
  }

  Data data;  ///< a test may copy it (a replica of the store), or empty it (FLUSHALL)

 private:
  static std::string_view bytes(limiter::Reader& in, std::size_t n) {
    static thread_local std::string held;
    held.clear();
    for (std::size_t i = 0; i < n; ++i) held += in.get<char>();
    return held;
  }
  static std::string bytes(const Record& record) {
    std::string out;
    for (const double t : {record.removed, record.listed, record.until, record.needed})
      limiter::put(out, t);
    return out + record.maker + record.entry;
  }
  static void add(Reply& out, double n) {
    out.add(Reply::Type::integer).integer = static_cast<std::int64_t>(n);
  }
  static std::vector<std::string> bulks(std::string_view words) {
    std::vector<std::string> out;
    while (!words.empty()) {
      const std::size_t line = words.find("\r\n");
      std::size_t n = 0;
      for (const char c : words.substr(1, line - 1)) n = n * 10 + static_cast<std::size_t>(c - '0');
      out.emplace_back(words.substr(line + 2, n));
      words.remove_prefix(line + 4 + n);
    }
    return out;
  }

  std::pair<int, std::string> apply(const std::string& change, const std::string& caller,
                                    const std::string& fresh, std::size_t keys_most) {
    const std::string key = change.substr(0, 16);
    double times[4];
    std::memcpy(times, change.data() + 16, sizeof(times));
    const auto [removal, listing, till, need] = times;
    Record record;
    record.maker = caller;
    const auto it = data.records.find(key);
    const bool there = it != data.records.end();
    if (there) {
      record = it->second;
    } else if (!data.epoch.empty() && (removal > 0 || (listing > 0 && need > now_)) &&
               data.records.size() >= keys_most) {
      const auto oldest = std::find_if(data.order.begin(), data.order.end(), [&](const auto& one) {
        return data.records.at(one.second).until == 0;
      });
      if (oldest == data.order.end()) return {4, ""};
      data.records.erase(oldest->second);
      data.order.erase(oldest);
    }
    bool changed = false;
    if (removal > record.removed) {
      record.removed = removal;
      record.needed = std::max(
          record.needed, now_ + std::clamp(record.until - now_, 3'600'000.0, 168 * 3'600'000.0));
      if (record.listed <= record.removed) {
        record.until = 0;
        record.entry.clear();
      }
      changed = true;
    }
    if (listing > record.removed && need > now_) {
      if (till > record.until) {
        if (record.until <= now_) record.maker = caller;
        record.until = till;
        record.needed = std::max(record.needed, need);
        record.entry = change.substr(48);
        changed = true;
      }
      changed = changed || listing > record.listed;
      record.listed = std::max(record.listed, listing);
    }
    if (changed) {
      if (data.epoch.empty()) data.epoch = fresh;
      data.last = std::max(data.last + 1, stamp_);
      for (auto at = data.order.begin(); at != data.order.end();)
        at = at->second == key ? data.order.erase(at) : std::next(at);
      data.order[data.last] = key;
      data.records[key] = record;
    }
    const int flags = (changed ? 1 : 0) + (record.until > now_ && record.maker == caller ? 2 : 0);
    const bool as_said = record.removed == removal && record.until == (listing > 0 ? till : 0);
    return {flags, as_said || !(there || changed) ? "" : bytes(record)};
  }

  double now_ = 0, stamp_ = 0;
};

}  // namespace weir::store::test
