{{- define "weir.name" -}}
{{- default "weir" .Values.nameOverride }}
{{- end }}

{{- define "weir.fullname" -}}
{{- $name := include "weir.name" . -}}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "weir.selectorLabels" -}}
app.kubernetes.io/name: {{ include "weir.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "weir.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}

{{- define "weir.policies" -}}
{{ default (printf "%s-policies" (include "weir.fullname" .)) .Values.existingPolicies }}
{{- end }}

{{/* Another chart that says "." would give its own values, and so its own image, to weir. */}}
{{- define "weir.context" -}}
{{- if not (hasKey .Values "limitsMemory") }}{{ fail "say .Subcharts.weir instead of . in include \"weir.sidecar\", include \"weir.volumes\" and include \"weir.podLabels\"" }}{{ end }}
{{- end }}

{{/* An entry of initContainers: a native sidecar, which the restricted Pod Security Standard admits. */}}
{{- define "weir.sidecar" -}}
{{- include "weir.context" . -}}
- name: weir
  image: {{ include "weir.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  restartPolicy: Always
  args: [serve, --config=/etc/weir/config/weir.yaml]
  env:
    - {name: WEIR_CONFIG, value: /etc/weir/config/weir.yaml}   # what `weir doctor` reads in this container
  ports:
    - {name: weir-proxy, containerPort: 8480, protocol: TCP}
    - {name: weir-health, containerPort: 8482, protocol: TCP}
  startupProbe:
    httpGet: {path: /startupz, port: 8482}
    periodSeconds: 1
    failureThreshold: 30
  readinessProbe:
    httpGet: {path: /readyz, port: 8482}
    periodSeconds: 2
    failureThreshold: 2
  livenessProbe:
    httpGet: {path: /livez, port: 8482}
    periodSeconds: 10
    timeoutSeconds: 2
    failureThreshold: 6
  lifecycle:
    preStop:
      exec: {command: [/usr/bin/weir, ctl, drain, --begin]}
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
    readOnlyRootFilesystem: true
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    seccompProfile: {type: RuntimeDefault}
  volumeMounts:
    - {name: weir-config, mountPath: /etc/weir/config, readOnly: true}
    - {name: weir-policies, mountPath: /etc/weir/policies, readOnly: true}
    - {name: weir-run, mountPath: /run/weir}
    {{- if .Values.redis.url }}
    - {name: weir-redis, mountPath: /etc/weir/redis, readOnly: true}
    {{- end }}
{{- end }}

{{/* A label of the pod, by which the PodMonitor and the NetworkPolicy find it. */}}
{{- define "weir.podLabels" -}}
{{- include "weir.context" . -}}
weir.example/sidecar: "true"
{{- end }}

{{- define "weir.volumes" -}}
{{- include "weir.context" . -}}
- name: weir-config
  configMap: {name: {{ include "weir.fullname" . }}-config}
- name: weir-policies
  configMap: {name: {{ include "weir.policies" . | quote }}}
- name: weir-run
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- if .Values.redis.url }}
- name: weir-redis
  secret: {secretName: {{ .Values.redis.existingSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}
