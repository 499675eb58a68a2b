CREATE TABLE IF NOT EXISTS {prefix}schema_history (
  version    int            NOT NULL,
  applied_at datetime(6)    NOT NULL,
  checksum   varbinary(100) NOT NULL,
  script     varbinary(400) NOT NULL,
  PRIMARY KEY (version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
