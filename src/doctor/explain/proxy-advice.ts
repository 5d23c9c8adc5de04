/** The settings of a proxy, by what goes wrong. */
export type ProxyTopic =
  | 'upgrade'
  | 'idle'
  | 'buffering'
  | 'stream'
  | 'held'
  | 'body'
  | 'header'
  | 'keep-alive';

/** A proxy, and how to recognise it by its `Server` or `Via` header. */
interface Proxy {
  readonly name: string;
  readonly sign: RegExp;
  readonly advice: Readonly<Record<ProxyTopic, string>>;
}

const proxies: readonly Proxy[] = [
  {
    name: 'nginx',
    sign: /nginx|openresty/i,
    advice: {
      upgrade:
        'in the location: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";',
      idle: 'in the location: proxy_read_timeout 3600s; proxy_send_timeout 3600s; (60s unless set)',
      buffering: 'in the location: proxy_buffering off;',
      stream:
        'in the location of /pusher/app/: proxy_buffering off; gzip off; and no proxy_ignore_headers X-Accel-Buffering',
      held: 'in the location: proxy_read_timeout 60s; send_timeout 60s; (60s unless set)',
      body: 'client_max_body_size 2m; (1m unless set)',
      header: 'large_client_header_buffers 4 16k; (4 8k unless set)',
      'keep-alive': 'keepalive_timeout 75s; (0 turns it off)',
    },
  },
  {
    name: 'Apache',
    sign: /apache/i,
    advice: {
      upgrade:
        'ProxyPass "/app/" "http://127.0.0.1:6001/app/" upgrade=websocket (2.4.47 or newer; before that, mod_proxy_wstunnel with ws://)',
      idle: 'ProxyTimeout 3600, or timeout=3600 on the ProxyPass line (60 unless set)',
      buffering: 'flushpackets=on on the ProxyPass line, and no mod_buffer on this path',
      stream:
        'flushpackets=on on the ProxyPass line, and neither mod_deflate nor mod_buffer on /pusher/app/',
      held: 'ProxyTimeout 60, or timeout=60 on the ProxyPass line',
      body: 'LimitRequestBody 2097152',
      header: 'LimitRequestFieldSize 16380 (8190 unless set)',
      'keep-alive': 'KeepAlive On',
    },
  },
  {
    name: 'Caddy',
    sign: /caddy/i,
    advice: {
      upgrade:
        'reverse_proxy passes the upgrade on by itself: look for header_up lines that remove Connection or Upgrade, and at what stands before Caddy',
      idle: 'no limit unless stream_timeout is set in reverse_proxy: look at what stands before Caddy',
      buffering: 'flush_interval -1 in reverse_proxy',
      stream: 'flush_interval -1 in reverse_proxy, and no encode for /pusher/app/',
      held: 'no write_timeout in the servers options, no read_timeout and no response_header_timeout in the transport of reverse_proxy',
      body: 'request_body { max_size 2MB }',
      header: 'max_header_size 64kb in the servers options',
      'keep-alive': 'look for "header Connection close"',
    },
  },
  {
    name: 'HAProxy',
    sign: /haproxy/i,
    advice: {
      upgrade:
        'mode http passes the upgrade on by itself: remove "option httpclose" and any http-request del-header of Upgrade or Connection',
      idle: 'timeout tunnel 1h (otherwise timeout client and timeout server count)',
      buffering: 'remove "option http-buffer-request" from this frontend and backend',
      stream: 'no "compression" lines for this backend, and no "option http-buffer-request"',
      held: 'timeout server 60s, timeout client 60s',
      body: 'has no limit of its own: look for a rule on req.body_size',
      header: 'tune.bufsize 32768 (16384 unless set)',
      'keep-alive': 'option http-keep-alive, and no "option httpclose"',
    },
  },
  {
    name: 'AWS ALB',
    sign: /awselb/i,
    advice: {
      upgrade:
        'the target group must have protocol version HTTP1; a Classic Load Balancer needs TCP listeners; behind CloudFront, forward all viewer headers',
      idle: 'set the attribute idle_timeout.timeout_seconds to 3600 (60 unless set)',
      buffering: 'does not buffer WebSockets: look at what stands before and behind it',
      stream: 'does not buffer answers: look at CloudFront or another CDN before it',
      held: 'set the attribute idle_timeout.timeout_seconds to 60 or more',
      body: 'has no limit except for Lambda targets (1 MB): look at AWS WAF',
      header: 'takes 16K per header line, which cannot be changed: send less',
      'keep-alive': 'set the attribute client_keep_alive.seconds above 0',
    },
  },
];

/** How to configure each proxy; only the proxy that answered, if its headers identify it. */
export function proxyAdvice(topic: ProxyTopic, answeredBy = ''): string {
  const known = proxies.filter(({ sign }) => sign.test(answeredBy));
  return (known.length > 0 ? known : proxies)
    .map(({ name, advice }) => `${name}: ${advice[topic]}`)
    .join('\n');
}

/** The sender of an answer, as far as its headers identify it. */
export function answererOf(headers: ReadonlyMap<string, string>): string {
  return [headers.get('server'), headers.get('via')].filter(Boolean).join(', ');
}
