{{/* The largest number of pods that there may be. */}}
{{- define "fanfare.maxReplicas" -}}
{{- if .Values.autoscaling.enabled -}}
{{- int .Values.autoscaling.maxReplicas -}}
{{- else -}}
{{- int .Values.replicas -}}
{{- end -}}
{{- end -}}

{{/* A quantity of CPU in thousandths of a core. */}}
{{- define "fanfare.millicores" -}}
{{- $quantity := toString . -}}
{{- if hasSuffix "m" $quantity -}}
{{- trimSuffix "m" $quantity | int -}}
{{- else -}}
{{- mulf (float64 $quantity) 1000 | int -}}
{{- end -}}
{{- end -}}

{{/* `realtime.threads` of the server. `auto` follows the server's own rule, but a pod without a CPU limit sees all cores of its node. */}}
{{- define "fanfare.threads" -}}
{{- $limit := dig "limits" "cpu" "" .Values.resources -}}
{{- $request := dig "requests" "cpu" "" .Values.resources -}}
{{- if ne (toString .Values.realtime.threads) "auto" -}}
{{- int .Values.realtime.threads -}}
{{- else if not (or $limit $request) -}}
auto
{{- else -}}
{{- $cores := 0 -}}
{{- if $limit -}}
{{- $cores = div (include "fanfare.millicores" $limit | int) 1000 | max 1 -}}
{{- else -}}
{{- $cores = div (add (include "fanfare.millicores" $request | int) 999) 1000 | max 1 -}}
{{- end -}}
{{- min 64 (max 1 (sub $cores 1)) -}}
{{- end -}}
{{- end -}}
