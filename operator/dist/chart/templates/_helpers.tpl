{{/* How the names of the operator's objects begin. */}}
{{- define "operator.prefix" -}}
{{- $prefix := .Values.namePrefix | default (printf "%s-" .Release.Name) -}}
{{- if gt (len $prefix) 29 -}}
{{- fail (printf "the names of Services that begin with %q would be too long: set namePrefix, to at most 29 characters" $prefix) -}}
{{- end -}}
{{- $prefix -}}
{{- end }}

{{/* The labels of every object. The version of the chart is not among them, so that an upgrade changes only what differs. */}}
{{- define "operator.labels" -}}
app.kubernetes.io/name: operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/part-of: operator-testbed
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The labels by which Services and the Deployment find the manager's pods. */}}
{{- define "operator.selector" -}}
control-plane: controller-manager
app.kubernetes.io/name: operator
{{- end }}

{{/* The subjects of every binding. */}}
{{- define "operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "operator.prefix" . }}controller-manager
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{/* What can't work, although each value is valid: a flag whose value other objects depend on, and one port for two servers. */}}
{{- define "operator.check" -}}
{{- $values := dict "webhook-bind-address" "webhook.port" "metrics-bind-address" "metrics.enabled" "namespaces" "namespaces" "name-prefix" "namePrefix" "omit-run-as-user" "omitRunAsUser" -}}
{{- range .Values.manager.args -}}
{{- $flag := regexReplaceAll "^--?([^=]*).*$" . "${1}" -}}
{{- with get $values $flag -}}
{{- fail (printf "manager.args has --%s, and other objects depend on its value: set %s instead" $flag .) -}}
{{- end -}}
{{- end -}}
{{- $taken := ternary (list 8081 8443) (list 8081) .Values.metrics.enabled -}}
{{- if and .Values.webhook.enabled (has (int .Values.webhook.port) $taken) -}}
{{- fail (printf "webhook.port is %v, where the operator serves its health or its metrics: set another port" .Values.webhook.port) -}}
{{- end -}}
{{- end }}
