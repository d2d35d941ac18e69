set local role svc_owner;

-- Who of a tenant is to keep the access they have? `org_id` null: of the partner itself and of all its organizations.
create table svc.access_reviews (
  id uuid primary key,
  partner_id uuid not null references svc.partners (id),
  org_id uuid,
  name text not null check (length(name) between 1 and 255),
  description text check (length(description) <= 2000),
  status text not null default 'pending' check (status in ('pending', 'in_progress', 'completed')),
  reviewer_id uuid not null references svc.users (id),
  created_by uuid not null references svc.users (id),
  item_count integer not null,
  due_date timestamptz,
  completed_at timestamptz,
  completed_by uuid references svc.users (id),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (partner_id, id),
  foreign key (partner_id, org_id) references svc.organizations (partner_id, id),
  check ((status = 'completed') = (completed_at is not null and completed_by is not null))
);
create index access_reviews_newest on svc.access_reviews (partner_id, created_at desc, id desc);
call svc.tenant_table('svc.access_reviews');

-- Memberships as they were when the review was made; `partner_id` and `org_id` are the review's. A role may be gone since.
create table svc.access_review_items (
  id uuid primary key,
  partner_id uuid not null,
  org_id uuid,
  review_id uuid not null,
  position integer not null,               -- by name; what pages go by
  user_id uuid not null references svc.users (id),
  user_name text not null,
  user_email text not null,
  last_active_at timestamptz,
  member_org uuid,                         -- the organization of the membership; null: it is of the partner
  member_since timestamptz not null,       -- one that ended and was given again meanwhile is another one
  role_id uuid not null,
  role_name text not null,
  permissions text[] not null,             -- `resource:action` each, inherited ones included
  decision text not null default 'pending' check (decision in ('pending', 'approved', 'revoked')),
  notes text check (length(notes) <= 2000),
  reviewed_at timestamptz,
  reviewed_by uuid references svc.users (id),
  unique (review_id, position),
  foreign key (partner_id, review_id) references svc.access_reviews (partner_id, id),
  check ((decision = 'pending') = (reviewed_at is null) and (reviewed_at is null) = (reviewed_by is null))
);
-- How many are still to be decided, asked of each review of a list.
create index access_review_items_pending on svc.access_review_items (review_id) where decision = 'pending';
call svc.tenant_table('svc.access_review_items');

grant select, insert, update on svc.access_reviews, svc.access_review_items to svc_app;
grant select, insert, update, delete on svc.access_reviews, svc.access_review_items to svc_worker;
