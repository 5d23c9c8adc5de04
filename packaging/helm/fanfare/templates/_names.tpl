{{/* Names and labels of objects. Kubernetes allows 63 characters. */}}
{{- define "fanfare.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "fanfare.shortName" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* 52 characters, so that `-channels` and `-config` fit behind it. */}}
{{- define "fanfare.name" -}}
{{- $short := include "fanfare.shortName" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $short .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $short | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fanfare.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "fanfare.name" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "fanfare.selector" -}}
app.kubernetes.io/name: {{ include "fanfare.shortName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fanfare.labels" -}}
helm.sh/chart: {{ include "fanfare.chart" . }}
{{ include "fanfare.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "fanfare.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default (.Chart.AppVersion | replace "+" "_") .Values.image.tag) -}}
{{- end -}}
{{- end -}}
