#include "policies/lang/asked_facts.h"
#include "policies/lang/frame.h"

/// Extractors of Envoy's facts about a request, beside HTTP, if Envoy asks over gRPC.
namespace weir::policies {
namespace {

Extracted read_context(Frame& frame, const Argument& argument) noexcept {
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  const AskedFacts* const facts = frame.request()->facts;
  return facts == nullptr ? Extracted::miss(MissReason::absent) : facts->context(argument.name);
}

Extracted read_metadata(Frame& frame, const Argument& argument) noexcept {
  if (frame.request() == nullptr) return Extracted::miss(MissReason::unread);
  const AskedFacts* const facts = frame.request()->facts;
  if (facts == nullptr) return Extracted::miss(MissReason::absent);
  return facts->metadata(frame.arena(), argument.path);
}

constexpr ExtractorRow kEnvoyRows[] = {
    {"envoy.context", ArgumentForm::name, Type::text, Side::request, false, false,
     "a constant of Envoy's route (context_extensions), where Envoy asks over gRPC: "
     "envoy.context.tier",
     read_context},
    {"envoy.metadata", ArgumentForm::path, Type::dyn, Side::request, false, false,
     "metadata of Envoy's filters, by namespace: "
     "envoy.metadata[\"envoy.filters.http.jwt_authn\"].claims.sub",
     read_metadata},
};

}  // namespace

std::span<const ExtractorRow> envoy_extractors() { return kEnvoyRows; }

}  // namespace weir::policies
