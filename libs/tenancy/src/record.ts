import { type Json, SluiceError } from '@sluice/canonical';
import { z } from 'zod';

/** Policies by the name of their limit. Their shapes belong to the limits of @sluice/admission. */
export type Limits = Readonly<Record<string, Json>>;

/** A paying party. */
export interface Tenant {
  id: string;
  /** A name for people; absent if the id is enough. */
  name?: string;
  /** Its share of a full pool, relative to a tenant of weight 1, from 0.01 to 100; absent means 1. */
  weight?: number;
  /** Policies that all its keys share. */
  limits: Limits;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** What operators say of a tenant, and may change. */
export type TenantSettings = Omit<Tenant, 'id' | 'limits' | 'createdAt'>;

/** One credential of a tenant, without the credential itself. */
export interface Key {
  id: string;
  tenant: string;
  /** A name for people; absent if none was given. */
  name?: string;
  /** The visible beginning of the credential. */
  prefix: string;
  /** Patterns of the models that it may use; absent means all. */
  models?: readonly string[];
  /** Policies of this key alone, beside those of its tenant. */
  limits: Limits;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Instant in epoch milliseconds from which it is refused; absent means never. */
  expiresAt?: number;
  /** Instant in epoch milliseconds of its revocation; absent means it is valid. */
  revokedAt?: number;
}

/** A schema for each field of a record: what has none would be stored and not read back. */
type Fields<Stored> = Record<keyof Omit<Stored, 'limits'>, z.ZodType>;

const instant = z.coerce.number().int().nonnegative();
/** The allowed weights of a tenant. */
export const tenantWeight = z.coerce.number().min(0.01).max(100);
const tenantSchema = z.object({
  id: z.string().min(1),
  name: z.string().optional(),
  weight: tenantWeight.optional(),
  createdAt: instant,
} satisfies Fields<Tenant>);
const keySchema = z.object({
  id: z.string().min(1),
  tenant: z.string().min(1),
  name: z.string().optional(),
  prefix: z.string(),
  models: z.string().transform(parseJson).pipe(z.array(z.string())).optional(),
  createdAt: instant,
  expiresAt: instant.optional(),
  revokedAt: instant.optional(),
} satisfies Fields<Key>);

const limitField = 'limit:';

/**
 * The fields of a tenant's or key's Redis hash. Each limit is a field of its own, and so is the revocation, so that two
 * operators who change one record at the same time cannot undo each other's changes.
 */
export function encodeFields(record: Tenant | Key): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(record)) {
    if (name === 'limits' || value === undefined) continue;
    fields[name] = typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
  for (const [limit, policy] of Object.entries(record.limits))
    fields[fieldOfLimit(limit)] = JSON.stringify(policy);
  return fields;
}

/** The name of the field that holds a limit's policy. */
export function fieldOfLimit(limit: string): string {
  return `${limitField}${limit}`;
}

/** Parses a tenant from its fields; absent if there are none or only some. */
export function parseTenant(fields: Record<string, string>): Tenant | undefined {
  const parsed = tenantSchema.safeParse(fields);
  if (!parsed.success) return undefined;
  const { name, weight, ...rest } = parsed.data;
  return {
    ...rest,
    ...(name !== undefined && { name }),
    ...(weight !== undefined && { weight }),
    limits: parseLimits(fields),
  };
}

/** Parses a key from its fields; absent if there are none or only some. */
export function parseKey(fields: Record<string, string>): Key | undefined {
  const parsed = keySchema.safeParse(fields);
  if (!parsed.success) return undefined;
  const { name, models, expiresAt, revokedAt, ...rest } = parsed.data;
  return {
    ...rest,
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(revokedAt !== undefined && { revokedAt }),
    limits: parseLimits(fields),
  };
}

function parseLimits(fields: Record<string, string>): Limits {
  const limits: Record<string, Json> = {};
  for (const [field, text] of Object.entries(fields)) {
    if (field.startsWith(limitField)) limits[field.slice(limitField.length)] = parseJson(text);
  }
  return limits;
}

function parseJson(text: string): Json {
  try {
    // JSON.parse returns nothing but Json.
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new SluiceError('internal', 'a stored tenancy record is not JSON', { cause });
  }
}
