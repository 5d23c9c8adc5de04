{{/* What the chart decides for the server. Each line stands before a setting of the configuration, and `checks.yaml` refuses that setting there. */}}
{{- define "fanfare.environment" -}}
FANFARE_CONFIG: /etc/fanfare/{{ include "fanfare.configKey" . }}
FANFARE_CHANNELS_HOST: {{ .Values.listenOn | quote }}
FANFARE_CHANNELS_PORT: "6001"
FANFARE_PUSH_HOST: {{ .Values.listenOn | quote }}
FANFARE_PUSH_PORT: "6002"
FANFARE_ADMIN_HOST: {{ .Values.listenOn | quote }}
FANFARE_ADMIN_PORT: "6003"
FANFARE_ADMIN_PATH_PREFIX: {{ .Values.admin.pathPrefix | quote }}
FANFARE_REALTIME_THREADS: {{ include "fanfare.threads" . | quote }}
FANFARE_ENGINE_TYPE: {{ .Values.engine.type }}
FANFARE_STOP_DELAY_SECONDS: "0"
FANFARE_DRAIN_SECONDS: {{ int .Values.drainSeconds | quote }}
{{- if eq .Values.store.type "sqlite" }}
FANFARE_STORE_URL: sqlite:/data/fanfare.db
{{- end }}
{{- if .Values.app.id }}
FANFARE_APP_ID: {{ .Values.app.id | quote }}
FANFARE_APP_KEY: {{ .Values.app.key | quote }}
{{- end }}
{{- range $variable, $secret := include "fanfare.secretFiles" . | fromYaml }}
{{ $variable }}: /etc/fanfare-secrets/{{ $variable }}
{{- end }}
{{- end -}}

{{/* The variables that name a file with a secret, each with the Secret that has it. */}}
{{- define "fanfare.secretFiles" -}}
{{- $all := dict
  "FANFARE_APP_SECRET_FILE" .Values.app.secret
  "FANFARE_ADMIN_PASSWORD_FILE" .Values.admin.passwordSecret
  "FANFARE_ENGINE_URL_FILE" .Values.engine.urlSecret
  "FANFARE_ENGINE_URLS_FILE" .Values.engine.urlsSecret
  "FANFARE_ENGINE_SENTINELS_PASSWORD_FILE" .Values.engine.sentinelsPasswordSecret
  "FANFARE_STORE_URL_FILE" .Values.store.urlSecret
  "FANFARE_OUTGOING_PROXY_FILE" .Values.outgoing.proxySecret
-}}
{{- range $variable, $secret := $all }}
{{- if $secret.name }}
{{ $variable }}: { name: {{ $secret.name | quote }}, key: {{ $secret.key | quote }} }
{{- end }}
{{- end }}
{{- end -}}

{{- define "fanfare.configSecret" -}}
{{- default (printf "%s-config" (include "fanfare.name" .)) .Values.existingConfigSecret.name -}}
{{- end -}}

{{/* JSON, because Helm writes large numbers in YAML as 1.048576e+06. */}}
{{- define "fanfare.configKey" -}}
{{- ternary .Values.existingConfigSecret.key "fanfare.json" (ne .Values.existingConfigSecret.name "") -}}
{{- end -}}
