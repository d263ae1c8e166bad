#pragma once

#include <array>
#include <string>
#include <vector>

#include "gate/judge.h"
#include "net/connection_list.h"
#include "net/http/client_connection.h"
#include "net/http/content_coding.h"
#include "net/http/date.h"
#include "net/http/head.h"
#include "net/http/response_head.h"
#include "net/worker_pool.h"
#include "proxy/head_text.h"
#include "proxy/notes.h"
#include "proxy/render.h"
#include "proxy/request_ids.h"
#include "proxy/settings.h"
#include "proxy/upstream.h"
#include "telemetry/metrics.h"

namespace weir::proxy {

class Intake;
class Session;

/// Objects that the sessions of one worker share. The scratch members are valid within one step of
/// one session: no kept data may point into them.
struct Context : net::ConnectionShare {
  Context(net::Worker& w, const Settings& s, gate::Judge& j, telemetry::MetricCells& m)
      : ConnectionShare(w, w.blocks(), s.head, s.chunks, s.body_bytes_max),
        settings(s),
        judge(j),
        metrics(m),
        upstreams(w, s, m),
        notes(w, s, ids) {}

  const Settings& settings;
  gate::Judge& judge;
  telemetry::MetricCells& metrics;
  UpstreamPool upstreams;
  RequestIds ids;
  NoteBook notes;
  net::HttpDate date;

  PathRules path_rules;
  std::vector<std::string> used_names;  ///< see UpstreamHeadOptions
  std::vector<std::string_view> used_name_views;

  net::ConnectionList<Session> sessions;
  bool went_idle = false;  ///< a session has become idle since Server looked for idle ones
  TimePoint silent_from = TimePoint::max();  ///< from then on it pays to look for silent ones
  std::vector<Session*> evictable;           ///< while room is being made

  const Intake* in_hand = nullptr;  ///< whose head `request` is, while it is read and judged
  net::RequestHead
      unjudged;  ///< of a request that ends without a judgement, for its line in the log
  net::NormalTarget target;  ///< of the request; lies in it, or in path_room
  net::ResponseHead response;
  HeadText head;                ///< a head being written
  std::string codings;          ///< an Accept-Encoding being written
  net::ContentDecoder decoder;  ///< of answers that policies read
  std::array<char, net::normal_path_room(net::kStartLineMax)> path_room;
};

}  // namespace weir::proxy
