#include "proxy/render.h"

#include <array>
#include <string>

#include "core/http_status.h"
#include "net/http/answer_head.h"

namespace weir::proxy {
namespace {

using RefusalBodies =
    std::array<std::string, static_cast<std::size_t>(net::HttpRefusal::unasked_upgrade) + 1>;

RefusalBodies make_refusal_bodies() {
  RefusalBodies out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const net::HttpRefusalRow& row = net::http_refusal_row(static_cast<net::HttpRefusal>(i));
    out[i] = problem_body(row.status);
    const std::size_t end = out[i].rfind('}');
    if (end == std::string::npos || row.detail.empty()) continue;
    out[i].insert(end, ",\"detail\":\"" + std::string(row.detail) + "\"");
  }
  return out;
}

}  // namespace

void append_answer(HeadText& out, const LocalAnswer& answer, std::string_view date) {
  net::append_status(out, answer.status, date);
  const bool no_body = answer.status == 204 || answer.status == 304;
  if (!no_body) net::append_content(out, answer.content_type, answer.body);
  if (!answer.request_id.empty()) {
    out.append("X-Request-Id: ");
    out.append(answer.request_id);
    out.append("\r\n");
  }
  out.append(answer.lines);
  net::append_head_end(out, answer.keep_alive, answer.http_1_0);
  if (!no_body && !answer.head_only && !answer.content_type.empty()) out.append(answer.body);
}

void fill_refusal(LocalAnswer& answer, net::HttpRefusal refusal) {
  static const RefusalBodies bodies = make_refusal_bodies();
  fill_problem(answer, net::http_refusal_row(refusal).status);
  answer.body = bodies[static_cast<std::size_t>(refusal)];
}

void fill_problem(LocalAnswer& answer, int status) noexcept {
  answer.status = status;
  const std::string_view body = problem_body(status);
  if (body.empty()) return;
  answer.content_type = "application/problem+json";
  answer.body = body;
}

LocalAnswer render(const Effect& effect) noexcept {
  LocalAnswer answer;
  answer.status = effect.status;
  answer.lines = effect.response_headers;
  answer.content_type = effect.content_type;
  answer.body = effect.body;
  return answer;
}

}  // namespace weir::proxy
