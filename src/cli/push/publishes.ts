import { z } from 'zod';
import type { AdminApi } from '../admin/admin-api.ts';
import { serverCommand } from '../channels/running-server.ts';
import { type Invocation, printResult } from '../invocation.ts';
import { operandsOf } from '../options.ts';
import type { ExitCode } from '../output.ts';
import {
  describeStatus,
  describeTimeline,
  deviceTimeline,
  publishStatus,
} from './shown-publish.ts';

/** `fanfare push status`: shows how far a publish has come. */
export const showPublish = serverCommand(async (call) => {
  const [publish] = operandsOf(call.given, ['PUBLISH-ID']);
  return await show(call, {
    publish,
    path: '',
    describe: (body, instance) => describeStatus(publishStatus.parse(body), instance),
  });
});

/** `fanfare push explain`: shows why one device did or did not get a publish. */
export const explainDevice = serverCommand(async (call) => {
  const [publish, device] = operandsOf(call.given, ['PUBLISH-ID', 'DEVICE-ID']);
  return await show(call, {
    publish,
    path: `/devices/${encodeURIComponent(device)}`,
    describe: (body, instance) => describeTimeline(deviceTimeline.parse(body), instance),
  });
});

interface Subject {
  readonly publish: string;
  /** After the path of the publish. */
  readonly path: string;
  readonly describe: (body: unknown, instance: string) => string;
}

/** Prints an answer about a publish, whatever instance it is of. */
async function show(
  call: Invocation & { readonly api: AdminApi },
  { publish, path, describe }: Subject,
): Promise<ExitCode> {
  const found = await call.api.ask('GET', `/publishes/${encodeURIComponent(publish)}`);
  const { id, instance } = z.object({ id: z.string(), instance: z.string() }).parse(found);
  const ofInstance = `/instances/${encodeURIComponent(instance)}/publishes/${encodeURIComponent(id)}`;
  const body = await call.api.ask('GET', `${ofInstance}${path}`);
  return printResult(call, { json: body, text: describe(body, instance) });
}
