{{- define "whimbrel.labels" -}}
app.kubernetes.io/name: whimbrel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "whimbrel.store" -}}
{{- if .Values.nats.url -}}
{{ .Values.nats.url }}
{{- else -}}
nats://{{ range $number := until 3 }}{{ if $number }},{{ end }}{{ $.Release.Name }}-nats-{{ $number }}.{{ $.Release.Name }}-nats:4222{{ end }}/society
{{- end -}}
{{- end }}
