{{/* The template of the pods, in a Deployment or a StatefulSet. */}}
{{- define "fanfare.pod" -}}
{{- $secretFiles := include "fanfare.secretFiles" . | fromYaml -}}
{{- $prefix := .Values.admin.pathPrefix -}}
{{- /* Without another pod, waiting would only keep new clients away for longer. */}}
{{- $preStop := ternary (int .Values.preStopSeconds) 0 (eq .Values.engine.type "redis") -}}
metadata:
  labels:
    {{- include "fanfare.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A change of the configuration replaces the pods.
    checksum/config: {{ toJson .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "fanfare.serviceAccount" . }}
  automountServiceAccountToken: false
  # A Service called `fanfare` would put FANFARE_PORT=tcp://… among the settings of the server.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add $preStop (int .Values.drainSeconds) 15 }}
  {{- with .Values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  containers:
    - name: fanfare
      image: {{ include "fanfare.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command: [/usr/bin/fanfare]
      args: [serve]
      workingDir: /data
      env:
        {{- range $name, $value := include "fanfare.environment" . | fromYaml }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - { name: channels, containerPort: 6001 }
        - { name: push, containerPort: 6002 }
        - { name: admin, containerPort: 6003 }
      # The first pod of a release may upgrade the store before it listens.
      startupProbe:
        httpGet: { path: {{ printf "%s/healthz" $prefix | quote }}, port: admin }
        periodSeconds: 2
        timeoutSeconds: 6
        failureThreshold: 150
      livenessProbe:
        httpGet: { path: {{ printf "%s/healthz" $prefix | quote }}, port: admin }
        periodSeconds: 10
        timeoutSeconds: 6
        failureThreshold: 3
      # A single pod stays in its Service while its store is away, because no other could serve its clients.
      readinessProbe:
        httpGet: { path: {{ printf "%s/%s" $prefix (ternary "readyz" "healthz" (gt (include "fanfare.maxReplicas" . | int) 1)) | quote }}, port: admin }
        periodSeconds: 5
        timeoutSeconds: 6
        failureThreshold: 2
      {{- if gt $preStop 0 }}
      lifecycle:
        # The image has no shell, so the kubelet itself sleeps.
        preStop: { sleep: { seconds: {{ $preStop }} } }
      {{- end }}
      {{- with .Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: config, mountPath: /etc/fanfare, readOnly: true }
        {{- if $secretFiles }}
        - { name: secrets, mountPath: /etc/fanfare-secrets, readOnly: true }
        {{- end }}
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- with .Values.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      secret:
        secretName: {{ include "fanfare.configSecret" . }}
        defaultMode: 0440
    {{- if $secretFiles }}
    - name: secrets
      projected:
        defaultMode: 0440
        sources:
          {{- range $variable, $secret := $secretFiles }}
          - secret:
              name: {{ $secret.name }}
              items: [{ key: {{ $secret.key | quote }}, path: {{ $variable }} }]
          {{- end }}
    {{- end }}
    {{- if not (and (eq .Values.store.type "sqlite") .Values.store.persistence.enabled) }}
    - name: data
      emptyDir: {}
    {{- else if .Values.store.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: { claimName: {{ .Values.store.persistence.existingClaim }} }
    {{- end }}
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    {{- with .Values.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "fanfare.selector" . | nindent 10 }}
    {{- end }}
{{- end -}}
