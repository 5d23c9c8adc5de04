import { z } from 'zod';
import { ENCODING_RULE } from '../../runtime/login-encoding.ts';
import { isNoProxy } from '../../runtime/proxy/no-proxy.ts';
import { NO_PROXY_AT_ALL, parseProxy } from '../../runtime/proxy/proxy-address.ts';
import { orNull } from './setting-kinds.ts';

const proxy = z
  .string()
  .refine((text) => text === NO_PROXY_AT_ALL || parseProxy(text) !== undefined, {
    error: `must be the URL of an HTTP proxy such as http://proxy.example.org:3128, or "${NO_PROXY_AT_ALL}"; https: and socks: proxies are not supported, and ${ENCODING_RULE}`,
  });

/** The settings under `outgoing`: how requests leave this server. */
export const outgoingSettings = z
  .strictObject({
    proxy: orNull(
      proxy,
      `The HTTP proxy for requests to gateways, webhooks and certificate authorities: http://[USER:PASSWORD@]HOST:PORT; null = that of HTTPS_PROXY or https_proxy, if one is set; ${NO_PROXY_AT_ALL} = no proxy.`,
    ),
    noProxy: z
      .array(
        z.string().refine(isNoProxy, {
          error:
            'must be a host, a domain such as .example.org, an IP address, a range such as 10.0.0.0/8, or *',
        }),
      )
      .nullable()
      .default(null)
      .describe(
        'What is reached without the proxy: hosts with all names below them, IP addresses, CIDR ranges, `*` = everything; null = those of NO_PROXY or no_proxy. This machine always is.',
      ),
    proxyNames: z
      .enum(['checked', 'pass'])
      .default('checked')
      .describe(
        'What the proxy gets for a host that a tenant or a device named. `checked`: this server looks the name up, refuses private addresses, and gives the proxy the address; `pass`: the proxy gets the name, for networks whose DNS does not know the internet, and must refuse private addresses itself. Hosts of vendors and of these settings are always passed as names.',
      ),
  })
  .prefault({})
  .describe('How requests leave this server.');
