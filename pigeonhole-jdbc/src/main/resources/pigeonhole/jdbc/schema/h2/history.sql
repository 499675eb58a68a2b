CREATE TABLE IF NOT EXISTS {prefix}schema_history (
  version    int                         NOT NULL,
  applied_at timestamp(6) with time zone NOT NULL,
  checksum   varchar                     NOT NULL,
  script     varchar                     NOT NULL,
  CONSTRAINT {name}schema_history_pk PRIMARY KEY (version)
);
