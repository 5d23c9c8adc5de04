import { z } from 'zod';
import { appOperations } from './app-operations.ts';
import { auditOperations } from './callers/audit-operations.ts';
import { sessionOperations } from './callers/session-operations.ts';
import { authOperations } from './channels/auth-operations.ts';
import { historyOperations } from './channels/history-operations.ts';
import { inspectOperations } from './channels/inspect-operations.ts';
import { problemOperations } from './channels/problem-operations.ts';
import { revocationOperations } from './channels/revocation-operations.ts';
import { sendOperations } from './channels/send-operations.ts';
import { streamOperations } from './channels/stream-operations.ts';
import { keyOperations } from './keys/key-operations.ts';
import { liveOperations } from './live-operations.ts';
import { logOperations } from './log/log-operations.ts';
import { monitoringOperations } from './monitoring/monitoring-operations.ts';
import { nodeOperations } from './monitoring/node-operations.ts';
import { sourceOperations } from './monitoring/source-operations.ts';
import { type Operation, operation } from './operation.ts';
import { composeOperations } from './push/compose-operations.ts';
import { deviceOperations } from './push/device-operations.ts';
import { deviceStoryOperations } from './push/device-story-operations.ts';
import { gatewayOperations } from './push/gateway-operations.ts';
import { instanceOperations } from './push/instance-operations.ts';
import { publishOperations } from './push/publish-operations.ts';
import { pushStreamOperations } from './push/stream-operations.ts';
import { userOperations } from './user-operations.ts';
import { webhookEndpointOperations } from './webhook-endpoint-operations.ts';
import { webhookOperations } from './webhook-operations.ts';

/** The whole admin API, in the order in which its description shows it. */
export const operations: readonly Operation[] = [
  ...monitoringOperations,
  ...nodeOperations,
  ...sourceOperations,
  ...appOperations,
  ...keyOperations,
  ...liveOperations,
  ...sendOperations,
  ...streamOperations,
  ...authOperations,
  ...revocationOperations,
  ...inspectOperations,
  ...historyOperations,
  ...problemOperations,
  ...instanceOperations,
  ...gatewayOperations,
  ...pushStreamOperations,
  ...composeOperations,
  ...deviceOperations,
  ...deviceStoryOperations,
  ...userOperations,
  ...publishOperations,
  ...webhookOperations,
  ...webhookEndpointOperations,
  ...logOperations,
  ...sessionOperations,
  ...auditOperations,
  operation({
    id: 'getDescription',
    role: 'viewer',
    restricted: 'filtered',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This description.',
    answer: z.looseObject({ openapi: z.string() }),
    act: async ({ description }) => description,
  }),
];
