// What grpc-js sees of weir's gRPC door, as one line of JSON: the status of each call by its name, and what it answered. Envoy's own
// .proto files, as @grpc/grpc-js-xds brings them along, say what goes over the wire.
//
//   node grpc_js.js ADDRESS [CA [KEY CERTIFICATE]]        NODE_PATH: where the packages are
"use strict";
const fs = require("fs");
const path = require("path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const deps = path.join(path.dirname(require.resolve("@grpc/grpc-js-xds/package.json")), "deps");
const protos = grpc.loadPackageDefinition(loader.loadSync(
  ["envoy/service/auth/v3/external_auth.proto", "envoy/service/ratelimit/v3/rls.proto"],
  {
    keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true,
    includeDirs: ["envoy-api", "xds", "googleapis", "protoc-gen-validate"].map((name) => path.join(deps, name)),
  }));
const envoy = protos.envoy.service;

const [address, ca, key, certificate] = process.argv.slice(2);
const bytes = (name) => (name ? fs.readFileSync(name) : null);
const credentials = ca ? grpc.credentials.createSsl(bytes(ca), bytes(key), bytes(certificate)) : grpc.credentials.createInsecure();
const options = { "grpc.max_send_message_length": -1, "grpc.max_receive_message_length": -1 };
const checks = new envoy.auth.v3.Authorization(address, credentials, options);
const limits = new envoy.ratelimit.v3.RateLimitService(address, credentials, options);
const packed = new envoy.ratelimit.v3.RateLimitService(address, credentials, { ...options, "grpc.default_compression_algorithm": 2 });

// {status: its name, answer or details}; never fails.
function call(client, method, message, { seconds = 10, metadata = {} } = {}) {
  const told = new grpc.Metadata();
  for (const [name, value] of Object.entries(metadata)) told.set(name, value);
  return new Promise((done) => {
    client[method](message, told, { deadline: Date.now() + seconds * 1000 }, (error, answer) =>
      done(error ? { status: grpc.status[error.code], details: error.details } : { status: "OK", answer }));
  });
}
const check = (target, headers = {}, more = {}) => call(checks, "Check", {
  attributes: {
    source: { address: { socket_address: { address: "192.0.2.7", port_value: 7 } } },
    request: { http: { method: "GET", path: target, host: "shop.example", headers, ...more } },
    context_extensions: { tier: "gold" },
  },
});
const limit = (client, entries, more = {}, how = {}) => call(client, "ShouldRateLimit", {
  domain: "shop", descriptors: [{ entries: Object.entries(entries).map(([k, value]) => ({ key: k, value })) }], ...more,
}, how);
const raw = (method, message) => new Promise((done) => {
  const deadline = Date.now() + 10_000;
  checks.makeUnaryRequest(method, (b) => b, (b) => b, message, new grpc.Metadata(), { deadline },
    (error) => done({ status: error ? grpc.status[error.code] : "OK" }));
});
const cancelled = (target) => new Promise((done) => {
  const going = checks.Check({ attributes: { request: { http: { method: "GET", path: target } } } },
    (error) => done({ status: error ? grpc.status[error.code] : "OK" }));
  setTimeout(() => going.cancel(), 50);
});

async function all() {
  const seen = { passed: await check("/free") };
  if (seen.passed.status !== "OK") return seen;  // not let in: the rest would say the same
  seen.flagged = await check("/flag", { "x-weir-verdict": "gray" });
  seen.gold = await check("/gold");
  seen.denied = await check("/banned");
  seen.body = await check("/body", { "content-type": "application/json" }, { raw_body: Buffer.from('{"item":"a"}') });
  seen.held = await check("/slow");
  seen.hurried = await call(checks, "Check", { attributes: { request: { http: { method: "GET", path: "/slow" } } } }, { seconds: 0.1 });
  seen.cancelled = await cancelled("/slow");
  seen.under = await limit(limits, { user: "ann" });
  seen.over = await limit(limits, { user: "ann" }, { hits_addend: 5 });
  seen.packed = await limit(packed, { user: "bob".repeat(1000) });
  seen.binary = await limit(limits, { user: "cid" }, {}, { metadata: { "trace-bin": Buffer.from([0, 255, 10]), "x-trace": "a b" } });
  seen.no_domain = await limit(limits, { user: "ann" }, { domain: "" });
  seen.large = await limit(limits, { user: "x".repeat(70_000) });
  seen.no_method = await raw("/envoy.service.auth.v3.Authorization/Nothing", Buffer.alloc(0));
  seen.no_message = await raw("/envoy.service.auth.v3.Authorization/Check", Buffer.from([10, 127]));
  const many = await Promise.all(Array.from({ length: 500 }, (_, i) => limit(limits, { user: `n${i}` })));
  seen.many = [...new Set(many.map((one) => one.status))];
  const exact = await Promise.all(Array.from({ length: 50 }, () => limit(limits, { user: "exact" })));
  seen.exact = exact.filter((one) => one.answer.overall_code === "OK").length;
  return seen;
}

all().then((seen) => {
  console.log(JSON.stringify(seen));
  for (const client of [checks, limits, packed]) client.close();
});
