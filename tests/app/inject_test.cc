#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include "app/tools/inject/manifest.h"
#include "tests/app/program.h"
#include "tests/app/scratch.h"

/// weir in other people's manifests: in the right place, and all else as it was.
namespace weir::app::inject_test {
namespace {

using testing::HasSubstr;

constexpr const char* kShop = R"(# our shop
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}   # the name
spec:
  template:
    metadata:
      labels:
        app: shop
    spec:
      containers:
      - name: app   # ours
        image: "shop:1"
        ports:
        - {name: http, containerPort: 8080}
      # below the containers
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports:
    - {port: 80, targetPort: http}   # by name
)";

InjectOptions native() {
  InjectOptions out;
  out.image = "weir:1";
  return out;
}
InjectOptions classic() {
  InjectOptions out = native();
  out.classic = true;
  return out;
}

Injected inject(const std::string& text, const char* name, const InjectOptions& options) {
  return app::inject({{name, text}}, options);
}

/// Every line of the text before, in its order, is in the text after.
void expect_kept(const std::string& before, const std::string& after,
                 std::vector<std::string> but = {}) {
  std::istringstream lines(before);
  std::size_t at = 0;
  for (std::string line; std::getline(lines, line);) {
    if (std::find(but.begin(), but.end(), line) != but.end()) continue;
    const std::size_t found = after.find(line + "\n", at);
    EXPECT_NE(found, std::string::npos) << "lost: " << line;
    if (found != std::string::npos) at = found;
  }
}

TEST(Inject, adds_a_native_sidecar_and_keeps_the_rest) {
  const Injected out = inject(kShop, "shop.yaml", native());
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.pods, 1U);
  expect_kept(kShop, out.text, {"    - {port: 80, targetPort: http}   # by name"});
  EXPECT_THAT(out.text, HasSubstr("    - {port: 80, targetPort: 8480}   # by name\n"));
  const auto documents = YAML::LoadAll(out.text);
  ASSERT_EQ(documents.size(), 2U);
  const YAML::Node spec = documents[0]["spec"]["template"]["spec"];
  const YAML::Node weir = spec["initContainers"][0];
  EXPECT_EQ(weir["name"].Scalar(), "weir");
  EXPECT_EQ(weir["image"].Scalar(), "weir:1");
  EXPECT_EQ(weir["restartPolicy"].Scalar(), "Always");
  EXPECT_EQ(weir["env"][0]["value"].Scalar(), "http://127.0.0.1:8080");
  EXPECT_EQ(weir["securityContext"]["capabilities"]["drop"][0].Scalar(), "ALL");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"].Scalar(), "60");
  EXPECT_EQ(spec["volumes"][0]["configMap"]["name"].Scalar(), "weir");
  EXPECT_EQ(spec["volumes"].size(), weir["volumeMounts"].size());
  EXPECT_EQ(spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"].Scalar(), "5");
  const YAML::Node label =
      documents[0]["spec"]["template"]["metadata"]["labels"]["weir.example/sidecar"];
  EXPECT_EQ(label.Scalar(), "true");
  EXPECT_EQ(label.Tag(), "!") << "a label is a text, not a boolean";
}

TEST(Inject, adds_a_classic_sidecar_behind_the_app) {
  const Injected out = inject(kShop, "shop.yaml", classic());
  ASSERT_EQ(out.problem, "");
  const YAML::Node spec = YAML::LoadAll(out.text)[0]["spec"]["template"]["spec"];
  ASSERT_EQ(spec["containers"].size(), 2U);
  const YAML::Node weir = spec["containers"][1];
  EXPECT_EQ(weir["name"].Scalar(), "weir");
  EXPECT_FALSE(weir["restartPolicy"].IsDefined());
  EXPECT_FALSE(weir["startupProbe"].IsDefined());
  EXPECT_EQ(weir["lifecycle"]["preStop"]["exec"]["command"][4].Scalar(), "--hold=10s");
  EXPECT_FALSE(spec["initContainers"].IsDefined());
  EXPECT_THAT(out.text, HasSubstr("      # below the containers\n---\n"));
  EXPECT_THAT(out.notes,
              testing::Contains("deployment/shop: container app: its preStop hook is now sleep 5; "
                                "if its image has no such program, give it another hook, or it "
                                "ends before load balancers have noticed"));
}

/// The annotation that names what inject has added to the pod.
std::string marks(const std::string& text) {
  return YAML::Load(
             inject(text, "x", native()).text)["metadata"]["annotations"]["weir.example/added"]
      .as<std::string>("");
}

TEST(Inject, marks_what_it_adds) {
  const auto pod = [](const std::string& metadata, const std::string& spec,
                      const std::string& container) {
    return "{kind: Pod, metadata: {name: p" + metadata + "}, spec: {" + spec +
           "containers: [{name: app" + container + "}, {name: logs}]}}";
  };
  const char* const grace = "terminationGracePeriodSeconds: 60, ";
  const char* const hook = ", lifecycle: {preStop: {sleep: {seconds: 5}}}";
  const char* const label = ", labels: {weir.example/sidecar: \"true\"}";
  EXPECT_EQ(marks(pod("", "", "")), "grace-period,label,hook:app,hook:logs");
  EXPECT_EQ(marks(pod("", grace, hook)), "label,hook:logs");
  EXPECT_EQ(marks(pod(label, "", hook)), "grace-period,hook:logs");
  EXPECT_EQ(marks("{kind: Pod, metadata: {name: p" + std::string(label) + "}, spec: {" + grace +
                  "containers: [{name: app" + hook + "}]}}"),
            "none");
  EXPECT_EQ(marks(pod(", annotations: {weir.example/added: \"hook:old\", a: b}", grace, "")),
            "label,hook:app,hook:logs")
      << "one that is left from before";
  EXPECT_EQ(marks("{kind: Pod, metadata: {labels: {}, annotations: {}}, spec: {volumes: [], "
                  "initContainers: [], containers: [{name: a}]}}"),
            "grace-period,label,hook:a,empty:annotations,empty:initContainers,empty:labels,"
            "empty:volumes");
  const Injected none = inject(
      "kind: Pod\nmetadata:\n  name: p\n  annotations: &a\nspec: "
      "{containers: [{name: a}]}\n",
      "x", native());
  EXPECT_EQ(none.problem, "");
  EXPECT_THAT(none.notes,
              testing::Contains(HasSubstr("pod/p: it does not get the annotation "
                                          "weir.example/added: \"grace-period,label,hook:a\"")));
}

// A key without a value gets one: the key is not written twice.
TEST(Inject, fills_what_is_there_without_a_value) {
  const auto deployment = [](const std::string& metadata, const std::string& spec) {
    return "kind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n" + metadata +
           "    spec:\n" + spec +
           "      containers:\n      - name: a\n        lifecycle:   # none\n        image: x\n";
  };
  const std::string metadatas[] = {"    metadata:\n",
                                   "    metadata: ~   # none\n",
                                   "    metadata: null\n",
                                   "    metadata:\n      annotations:\n      labels:\n",
                                   "    metadata:\n      labels: null\n      annotations: # none\n",
                                   "    metadata: {annotations: , labels: null}\n",
                                   "    metadata: {annotations: null}\n",
                                   "    metadata:\n      name: x\n      annotations: NULL\n"};
  const std::string specs[] = {"", "      terminationGracePeriodSeconds:\n"};
  for (const std::string& metadata : metadatas) {
    for (const std::string& spec : specs) {
      const std::string text = deployment(metadata, spec);
      const Injected done = inject(text, "x", native());
      ASSERT_EQ(done.problem, "") << text;
      const YAML::Node pod = YAML::Load(done.text)["spec"]["template"];
      EXPECT_EQ(pod["metadata"]["annotations"]["weir.example/added"].as<std::string>(),
                "grace-period,label,hook:a")
          << done.text;
      EXPECT_EQ(pod["metadata"]["labels"]["weir.example/sidecar"].as<std::string>(), "true");
      EXPECT_EQ(pod["spec"]["initContainers"].size(), 1U) << done.text;
      EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"].as<int>(), 60) << done.text;
      EXPECT_EQ(pod["spec"].size(), 4U) << done.text;
      const Injected again = inject(done.text, "x", native());
      EXPECT_EQ(again.text, done.text);
      const Injected out = app::take_out({{"x", done.text}}, native());
      ASSERT_EQ(out.problem, "") << done.text;
      const YAML::Node bare = YAML::Load(out.text)["spec"]["template"];
      EXPECT_FALSE(bare["spec"]["volumes"] || bare["spec"]["initContainers"]) << out.text;
      EXPECT_TRUE(!bare["metadata"] || bare["metadata"].IsNull() ||
                  !bare["metadata"]["annotations"])
          << out.text;
    }
  }
}

TEST(Inject, doing_it_twice_changes_nothing) {
  for (const InjectOptions& options : {native(), classic()}) {
    const Injected once = inject(kShop, "shop.yaml", options);
    const Injected twice = inject(once.text, "shop.yaml", options);
    EXPECT_EQ(twice.problem, "");
    EXPECT_EQ(twice.text, once.text);
    EXPECT_EQ(twice.pods, 0U);
    EXPECT_EQ(twice.there, 1U);
    // The other kind is not put beside it.
    EXPECT_EQ(inject(once.text, "shop.yaml", options.classic ? native() : classic()).text,
              once.text);
  }
}

constexpr const char* kContainers = "containers: [{name: app, ports: [{containerPort: 80}]}]";

TEST(Inject, knows_every_kind_of_workload) {
  const std::string spec = kContainers;
  const std::string metadata = "metadata: {name: x}, ";
  struct Case {
    const char* name;
    std::string text;
  };
  std::vector<Case> cases{
      {"pod", "{kind: Pod, " + metadata + "spec: {" + spec + "}}"},
      {"pod template", "{kind: PodTemplate, " + metadata + "template: {spec: {" + spec + "}}}"},
      {"cron job", "{kind: CronJob, " + metadata +
                       "spec: {jobTemplate: {spec: {template: {spec: {" + spec + "}}}}}}"},
      {"list", "{kind: List, items: [{kind: Pod, spec: {" + spec + "}}]}"},
      {"list of deployments",
       "{kind: DeploymentList, items: [{kind: Deployment, spec: {template: {spec: {" + spec +
           "}}}}]}"},
  };
  for (const char* kind : {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet",
                           "ReplicationController", "Job", "Rollout"}) {
    cases.push_back({kind, std::string("{kind: ") + kind + ", " + metadata +
                               "spec: {template: {spec: {" + spec + "}}}}"});
  }
  for (const Case& c : cases) {
    const Injected out = inject(c.text, "x.yaml", native());
    EXPECT_EQ(out.problem, "") << c.name;
    EXPECT_EQ(out.pods, 1U) << c.name;
    EXPECT_THAT(out.text, HasSubstr("\"name\": \"weir\"")) << c.name;
  }
}

TEST(Inject, stands_before_other_init_containers_and_beside_other_volumes) {
  const Injected out = inject(R"(kind: Pod
metadata:
  name: p
spec:
  initContainers:
    - name: migrate
      image: m
  containers:
    - image: a
      name: app
      lifecycle: {preStop: {exec: {command: [stop]}}}
      ports: [{containerPort: 7000}]
  volumes: []
  terminationGracePeriodSeconds: 30
)",
                              "p.yaml", native());
  ASSERT_EQ(out.problem, "");
  const YAML::Node spec = YAML::Load(out.text)["spec"];
  EXPECT_EQ(spec["initContainers"][0]["name"].Scalar(), "weir");
  EXPECT_EQ(spec["initContainers"][1]["name"].Scalar(), "migrate");
  EXPECT_EQ(spec["volumes"].size(), 2U);
  EXPECT_EQ(spec["terminationGracePeriodSeconds"].Scalar(), "30");
  EXPECT_FALSE(spec["containers"][0]["lifecycle"]["preStop"]["sleep"].IsDefined());
  EXPECT_THAT(out.notes.front(), HasSubstr("terminationGracePeriodSeconds is 30"));
}

TEST(Inject, says_why_not) {
  struct Case {
    std::string text;
    InjectOptions options;
    const char* says;
  };
  const std::string job =
      std::string("{kind: Job, metadata: {name: j}, spec: {template: {spec: {") + kContainers +
      "}}}}";
  const Case kCases[] = {
      {"kind: ConfigMap\n", native(), "x.yaml: no pod"},
      {"", native(), "no pod"},
      {"a: [\n", native(), "x.yaml:"},
      {job, classic(), "job/j: with --classic its pods would never complete"},
      {"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: "
       "x}]}]}}",
       native(), "pod/p: x is not a port number (1 to 65535); pass --app-port"},
      {"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: "
       "80}]}, "
       "{name: b, ports: [{containerPort: 8482}]}]}}",
       native(), "pod/p: the app listens on 8482, which is weir's"},
      {"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: "
       "80}]}], "
       "volumes: [{name: weir-run, emptyDir: {}}]}}",
       native(), "pod/p: it has a volume weir-run, as weir would"},
      {"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: "
       "8480}]}]}}",
       native(), "listens on 8480, which is weir's"},
      {"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, ports: [{containerPort: "
       "8483}]}]}}",
       native(), "listens on 8483, which is weir's"},
      {"{kind: Pod, metadata: {name: p, annotations: {weir.example/app-port: '70000'}}, spec: "
       "{containers: [{name: a}]}}",
       native(), "pod/p: 70000 is not a port number (1 to 65535)"},
      {"kind: Pod\nmetadata: {name: p}\nspec:\n  volumes:\n  containers: [{name: a, ports: "
       "[{containerPort: 80}]}]\n",
       native(), "\"volumes\" is not a list"},
  };
  for (const Case& c : kCases) {
    const Injected out = inject(c.text, "x.yaml", c.options);
    EXPECT_THAT(out.problem, HasSubstr(c.says)) << c.text;
    EXPECT_EQ(out.text, "");
  }
  InjectOptions port = native();
  port.app_port = "9000";
  EXPECT_THAT(inject("{kind: Pod, spec: {containers: [{name: a}]}}", "x", port).text,
              HasSubstr("127.0.0.1:9000"));
}

TEST(Inject, leaves_the_place_of_the_app_to_weir_yaml_where_no_port_is_named) {
  const Injected out =
      inject("{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}}", "x", native());
  ASSERT_EQ(out.problem, "");
  const YAML::Node env = YAML::Load(out.text)["spec"]["initContainers"][0]["env"];
  ASSERT_EQ(env.size(), 2U);
  EXPECT_EQ(env[0]["name"].Scalar(), "WEIR_STATE_DIR");
  EXPECT_EQ(env[1]["name"].Scalar(), "WEIR_CONFIG");
  EXPECT_THAT(out.notes.back(), HasSubstr("where weir.yaml says (proxy.upstream)"));
}

TEST(Inject, names_probes_that_an_app_on_loopback_fails) {
  const auto notes = [](const std::string& probes) {
    return inject(
               "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: app\n    ports: "
               "[{name: http, containerPort: 3000}, {name: admin, containerPort: 9000}]\n" +
                   probes,
               "x", native())
        .notes;
  };
  const auto note = [](const std::string& probes) {
    return "pod/p: container app: " + probes +
           " of 3000 fails once the app listens on 127.0.0.1 only; let httpGet ask 8480, from "
           "where weir passes it on, or use exec";
  };
  EXPECT_THAT(notes("    readinessProbe: {httpGet: {path: /up, port: http}}\n"
                    "    livenessProbe: {tcpSocket: {port: 3000}}\n"),
              testing::Contains(note("readinessProbe, livenessProbe")));
  EXPECT_THAT(notes("    startupProbe: {grpc: {port: 3000}}\n"),
              testing::Contains(note("startupProbe")));
  // One that asks weir, another port or the program itself.
  for (const char* probe : {"httpGet: {path: /up, port: 8480}", "httpGet: {port: admin}",
                            "exec: {command: [up, '3000']}"}) {
    EXPECT_EQ(notes("    readinessProbe: {" + std::string(probe) + "}\n").size(), 1U) << probe;
  }
}

TEST(Inject, writes_once_into_a_template_that_two_workloads_share) {
  const std::string text = R"(kind: List
items:
- kind: Deployment
  metadata: {name: a}
  spec:
    template: &shared
      spec:
        containers:
        - {name: a, ports: [{containerPort: 3000}]}
- kind: DaemonSet
  metadata: {name: b}
  spec: {template: *shared}
)";
  const Injected out = inject(text, "x", native());
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.pods, 2U);
  const YAML::Node items = YAML::Load(out.text)["items"];
  for (const YAML::Node& item : items)
    EXPECT_EQ(item["spec"]["template"]["spec"]["initContainers"].size(), 1U);
  EXPECT_EQ(inject(out.text, "x", native()).text, out.text);
}

TEST(Inject, keeps_the_mark_that_some_editors_begin_a_file_with) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(inject(mark + kShop, "x", native()).text, mark + inject(kShop, "x", native()).text);
}

TEST(Inject, points_only_services_of_the_same_namespace) {
  const auto target = [](const char* pod, const char* service) {
    const std::string text =
        std::string("kind: Pod\nmetadata: {name: p") + pod +
        ", labels: {app: a}}\nspec: {containers: [{name: a, ports: [{containerPort: 80}]}]}\n---\n"
        "kind: Service\nmetadata: {name: s" +
        service + "}\nspec: {selector: {app: a}, ports: [{port: 80, targetPort: 80}]}\n";
    return YAML::LoadAll(inject(text, "x", native()).text)
        .at(1)["spec"]["ports"][0]["targetPort"]
        .Scalar();
  };
  EXPECT_EQ(target("", ""), "8480");
  EXPECT_EQ(target(", namespace: x", ", namespace: x"), "8480");
  EXPECT_EQ(target(", namespace: x", ""), "8480");
  EXPECT_EQ(target(", namespace: x", ", namespace: y"), "80");
}

constexpr const char* kService =
    "{kind: Service, metadata: {name: s}, spec: {selector: {app: shop}, ports: [{port: 80, "
    "targetPort: 3000}]}}";

TEST(Inject, makes_one_stream_of_several_files) {
  const std::string pod =
      "kind: Pod\nmetadata: {name: p, labels: {app: shop}}\nspec: {containers: [{name: a}]}";
  const Injected out = app::inject({{"s.json", kService},
                                    {"empty.yaml", "\n"},
                                    {"p.yaml", pod},
                                    {"c.yaml", "---\nkind: Secret\n"}},
                                   native());
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.pods, 1U);
  const auto documents = YAML::LoadAll(out.text);
  ASSERT_EQ(documents.size(), 3U) << out.text;
  EXPECT_THAT(out.text, testing::StartsWith("---\n{kind: Service"))
      << "else kubectl takes all of it for JSON";
  EXPECT_EQ(documents[0]["spec"]["ports"][0]["targetPort"].Scalar(), "8480")
      << "the Service of one file leads to the pod of another";
  EXPECT_EQ(documents[1]["spec"]["initContainers"][0]["env"][0]["value"].Scalar(),
            "http://127.0.0.1:3000");
  EXPECT_EQ(documents[2]["kind"].Scalar(), "Secret");
  EXPECT_EQ(inject(out.text, "all", native()).text, out.text);
}

TEST(Inject, names_the_file_that_is_wrong) {
  const auto problem = [](const char* second) {
    return app::inject({{"good.yaml", kShop}, {"bad.yaml", second}}, native()).problem;
  };
  EXPECT_THAT(problem("a: ["),
              testing::AllOf(testing::StartsWith("bad.yaml:1:"),
                             testing::HasSubstr(": this [ ] list goes wrong here, or is not ")));
  EXPECT_EQ(problem("a: b: c"),
            "bad.yaml:1:5: a second \": \" in one line: quote a text that holds \": \"; check the "
            "indentation");
  EXPECT_EQ(problem("a:\n\t- b"), "bad.yaml:2:1: a tab in the indentation: indent with blanks");
  EXPECT_THAT(
      problem("{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}], volumes: }}"),
      testing::StartsWith("bad.yaml: pod/p: \"volumes\""));
  EXPECT_EQ(app::inject({{"a", "kind: Secret"}, {"b", ""}}, native()).problem,
            "a, b: no pod and nothing with a pod template in it");
}

TEST(Inject, leaves_out_pods_that_say_so_or_use_the_network_of_the_node) {
  const auto pod = [](const char* metadata, const char* spec) {
    return std::string("{kind: Pod, metadata: {name: p, labels: {app: shop}") + metadata +
           "}, spec: {containers: [{name: a}]" + spec + "}}\n---\n" + kService;
  };
  for (const std::string& text : {pod(", annotations: {weir.example/inject: \"false\"}", ""),
                                  pod("", ", hostNetwork: true")}) {
    const Injected out = inject(text, "x", native());
    EXPECT_EQ(out.problem, "");
    EXPECT_EQ(out.text, text) << "neither it nor its Service";
    EXPECT_EQ(out.left_out, 1U);
    EXPECT_THAT(out.notes.front(), HasSubstr("pod/p: left as it is; "));
  }
  EXPECT_EQ(inject(pod(", annotations: {weir.example/inject: \"true\"}", ""), "x", native()).pods,
            1U);
}

constexpr const char* kTwoPorts = R"(kind: Deployment
metadata: {name: shop}
spec:
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: app
        ports:
        - {name: dns, containerPort: 53, protocol: UDP}
        - {name: http, containerPort: 3000}
        - {name: metrics, containerPort: 9090}
---
)";

std::string service(const std::string& name, const std::string& ports) {
  return "kind: Service\nmetadata: {name: " + name + "}\nspec: {selector: {app: shop}, ports: [" +
         ports + "]}\n---\n";
}

/// The targetPorts of all Services, in their order.
std::string targets(const std::string& text) {
  std::string out;
  for (const YAML::Node& document : YAML::LoadAll(text)) {
    if (!document.IsMap() || document["kind"].Scalar() != "Service") continue;
    for (const YAML::Node& port : document["spec"]["ports"])
      out += port["targetPort"].as<std::string>("none") + " ";
  }
  return out;
}

TEST(Inject, takes_the_port_for_http_and_leaves_others_alone) {
  const std::string metrics = service("m", "{port: 9090, targetPort: metrics}");
  const std::string shop = service("s", "{name: http, port: 80, targetPort: http}");
  for (const bool first : {true, false}) {
    const Injected out =
        inject(kTwoPorts + (first ? metrics + shop : shop + metrics), "x", native());
    ASSERT_EQ(out.problem, "");
    EXPECT_THAT(out.text, HasSubstr("http://127.0.0.1:3000"));
    EXPECT_EQ(targets(out.text), first ? "metrics 8480 " : "8480 metrics ");
    EXPECT_THAT(out.notes, testing::Contains("service/m: port metrics leads to deployment/shop "
                                             "past weir, which is before 3000 only"));
  }
  const Injected named = inject(
      kTwoPorts + service("m", "{name: http-metrics, port: 9090, targetPort: metrics}") + shop, "x",
      native());
  EXPECT_EQ(targets(named.text), "metrics 8480 ") << "a name that begins with http says less";
  const Injected both = inject(
      kTwoPorts + service("s",
                          "{name: a, port: 80, targetPort: 3000}, {name: b, port: 8080, "
                          "targetPort: http}, {name: c, port: 53, targetPort: 53, protocol: UDP}"),
      "x", native());
  EXPECT_EQ(targets(both.text), "8480 8480 53 ");
}

TEST(Inject, points_a_service_that_comes_later) {
  const std::string done = inject(kTwoPorts, "x", native()).text;
  EXPECT_THAT(done, HasSubstr("http://127.0.0.1:3000")) << "not the port for UDP";
  const std::string later = service("s", "{port: 80, targetPort: http}");
  const Injected out = app::inject({{"d.yaml", done}, {"s.yaml", later}}, native());
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(targets(out.text), "8480 ");
  InjectOptions said = native();
  said.app_port = "9090";
  const std::string other = service("s", "{port: 80, targetPort: 9090}");
  EXPECT_EQ(targets(app::inject({{"d.yaml", done}, {"s.yaml", other}}, said).text), "9090 ")
      << "that weir forwards to 3000";
}

TEST(Inject, points_a_list_of_ports_that_two_services_share) {
  const std::string text =
      std::string(kTwoPorts) +
      "kind: List\nitems:\n"
      "- {kind: Service, metadata: {name: a}, spec: {selector: {app: shop}, ports: &p [{port: 80, "
      "targetPort: 3000}]}}\n"
      "- {kind: Service, metadata: {name: b}, spec: {selector: {app: shop}, ports: *p}}\n";
  const Injected out = inject(text, "x", native());
  ASSERT_EQ(out.problem, "");
  const YAML::Node items = YAML::LoadAll(out.text).back()["items"];
  for (const YAML::Node& item : items)
    EXPECT_EQ(item["spec"]["ports"][0]["targetPort"].Scalar(), "8480") << out.text;
}

TEST(Inject, refuses_a_service_that_it_cannot_point) {
  const std::string left_out = R"(kind: Pod
metadata: {name: other, labels: {app: shop}, annotations: {weir.example/inject: "false"}}
spec: {containers: [{name: a}]}
---
)";
  const std::string plain = service("s", "{port: 80, targetPort: 3000}");
  EXPECT_THAT(
      inject(kTwoPorts + left_out + plain, "x", native()).problem,
      HasSubstr("service/s: it leads to deployment/shop with weir and to pod/other without"));
  for (const char* target : {"&tp 3000", "!!int 3000"}) {
    const Injected out =
        inject(kTwoPorts + service("s", std::string("{port: 80, targetPort: ") + target + "}"), "x",
               native());
    EXPECT_THAT(out.problem, HasSubstr("service/s: its targetPort is empty, or has an anchor"))
        << target;
  }
  const std::string empty =
      "kind: Service\nmetadata: {name: s}\nspec:\n  selector: {app: shop}\n  ports:\n"
      "  - port: 3000\n    targetPort:\n    protocol: TCP\n";
  EXPECT_THAT(inject(kTwoPorts + empty, "x", native()).problem,
              HasSubstr("its targetPort is empty"));
  for (const char* quoted : {"\"3000\"", "'3000'"}) {
    EXPECT_EQ(targets(inject(kTwoPorts + service("s", std::string("{port: 80, targetPort: ") +
                                                          quoted + "}"),
                             "x", native())
                          .text),
              "8480 ");
  }
}

TEST(Inject, leaves_the_selector_of_a_workload_as_it_is) {
  const std::string text = R"(kind: Deployment
metadata: {name: shop}
spec:
  selector:
    matchLabels: &labels
      app: shop
  template:
    metadata:
      labels: *labels
    spec:
      containers:
      - name: app
)";
  const Injected out = inject(text, "x", native());
  ASSERT_EQ(out.problem, "");
  EXPECT_EQ(out.pods, 1U);
  EXPECT_EQ(YAML::Load(out.text)["spec"]["selector"]["matchLabels"].size(), 1U);
  EXPECT_THAT(out.notes.front(), HasSubstr("it does not get the label weir.example/sidecar"));
}

TEST(Inject, ends_lines_as_the_file_does) {
  std::string text = kShop;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\r\n");
  const std::string out = inject(text, "x", native()).text;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(out.begin(), out.end(), '\r'));
}

TEST(Inject, knows_no_action_to_sleep_before_there_was_one) {
  EXPECT_THAT(inject(kShop, "x", native()).text, HasSubstr("sleep:"));
  const std::string out = inject(kShop, "x", classic()).text;
  EXPECT_EQ(out.find("sleep:"), std::string::npos);
  EXPECT_THAT(out, HasSubstr("exec"));
}

TEST(Inject, takes_the_port_of_the_annotation_before_others) {
  const std::string text =
      std::string(
          "{kind: Pod, metadata: {name: p, labels: {app: shop}, annotations: "
          "{weir.example/app-port: \"9090\"}}, spec: {containers: [{name: a}]}}\n---\n") +
      kService;
  EXPECT_THAT(inject(text, "x", native()).text, HasSubstr("http://127.0.0.1:9090"));
  InjectOptions said = native();
  said.app_port = "7070";
  EXPECT_THAT(inject(text, "x", said).text, HasSubstr("http://127.0.0.1:7070"));
}

TEST(Inject, reads_files_directories_and_what_a_shell_made_of_a_star) {
  const Scratch scratch;
  const auto named = [](const char* name) {
    return std::string("{kind: Pod, metadata: {name: ") + name +
           "}, spec: {containers: [{name: a}]}}";
  };
  std::filesystem::create_directories(scratch / "d/below");
  scratch.write("d/b.yml", named("b"));
  scratch.write("d/a.json", named("a"));
  scratch.write("d/notes.txt", "no manifest: [");
  scratch.write("d/below/c.yaml", named("c"));
  scratch.write("e.yaml", named("e"));
  const auto pods = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"inject"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome out = run_weir(all, scratch.path());
    EXPECT_EQ(out.code, 0) << out.err;
    std::string names;
    for (const YAML::Node& document : YAML::LoadAll(out.out)) {
      if (document.IsMap()) names += document["metadata"]["name"].Scalar();
    }
    return names;
  };
  EXPECT_EQ(pods({"-f", "d"}), "ab");
  EXPECT_EQ(pods({"-f", "d", "-R"}), "abc");
  EXPECT_EQ(pods({"-f", "e.yaml", "-f", "d", "--classic"}), "eab");
  EXPECT_EQ(pods({"-f", "e.yaml", "d/b.yml", "d/a.json"}), "eba");
  EXPECT_EQ(pods({"e.yaml"}), "e");
  EXPECT_EQ(run_weir({"inject", "-f", "-", "-f", "-"}, scratch.path()).code, 2);
  std::filesystem::create_directories(scratch / "none");
  const Outcome none = run_weir({"inject", "-f", "none"}, scratch.path());
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("none: no file in it ends with .yaml, .yml or .json"));
}

TEST(Inject, is_a_command) {
  const Scratch scratch;
  scratch.write("shop.yaml", kShop);
  const Outcome out =
      run_weir({"inject", "-f", "shop.yaml", "--config-map", "rules"}, scratch.path());
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("registry.example/weir:"));
  EXPECT_THAT(out.out, HasSubstr("configMap: {name: rules}"));
  EXPECT_THAT(out.err, HasSubstr("deployment/shop: the app is expected at 127.0.0.1:8080"));
  EXPECT_EQ(run_weir({"inject", "-f", "missing.yaml"}, scratch.path()).code, 4);
  EXPECT_EQ(run_weir({"inject"}, scratch.path()).code, 2);
  scratch.write("none.yaml", "kind: Secret\n");
  EXPECT_EQ(run_weir({"inject", "-f", "none.yaml"}, scratch.path()).code, 1);
}

}  // namespace
}  // namespace weir::app::inject_test
