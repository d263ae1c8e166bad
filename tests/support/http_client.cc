#include "tests/support/http_client.h"

namespace weir::test {

HttpAnswer HttpClient::read(bool head_request) {
  HttpAnswer answer;
  auto head = stream_.read_head();
  if (!head) return answer;
  answer.head = std::move(*head);
  answer.status = std::stoi(answer.head.substr(9, 3));
  answer.body = stream_.read_body(answer.head, head_request);
  return answer;
}

HttpAnswer HttpClient::ask(std::string_view request, bool head_request) {
  send(request);
  return read(head_request);
}

HttpAnswer HttpClient::get(std::string_view target, std::string_view rest) {
  return ask(request_text("GET", target, rest));
}

HttpAnswer HttpClient::post(std::string_view target, std::string_view body, std::string_view rest) {
  return ask(request_text("POST", target, rest, body));
}

bool HttpClient::at_end() { return stream_.buffer().empty() && !stream_.fill(); }

std::string request_text(std::string_view method, std::string_view target, std::string_view rest,
                         std::string_view body) {
  std::string out{method};
  out += ' ';
  out += target;
  out += " HTTP/1.1\r\nHost: app.example\r\n";
  out += rest;
  if (!body.empty()) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  out += "\r\n";
  out += body;
  return out;
}

std::string ok(std::string_view body, std::string_view lines) {
  std::string out = "HTTP/1.1 200 OK\r\n";
  out += lines;
  out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  out += body;
  return out;
}

}  // namespace weir::test
